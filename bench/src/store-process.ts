import type { Window } from "./generator/load.ts";
import { RequestProcess, type Server } from "./processes.ts";
import type { StoreReply, StoreRequest } from "./servers/item-store.ts";

const MEASURE_GRACE_MS = 60_000;
const FILL_TIMEOUT_MS = 300_000;

/** The store of items in its own process, without an engine. */
export class StoreProcess implements Server {
  readonly pid: number;
  /** Always 0, because this process does not listen. */
  readonly port = 0;
  readonly #process: RequestProcess<StoreRequest, StoreReply>;

  private constructor(process: RequestProcess<StoreRequest, StoreReply>) {
    this.#process = process;
    this.pid = process.pid;
  }

  /** Starts the process. `folder` is the folder for its databases. */
  static async start(folder: string): Promise<StoreProcess> {
    return new StoreProcess(await RequestProcess.start("servers/item-store", [folder]));
  }

  async measure(request: Omit<Extract<StoreRequest, { kind: "measure" }>, "kind">): Promise<Window> {
    const reply = await this.#ask(
      { kind: "measure", ...request },
      request.warmUpMs + request.measureMs + MEASURE_GRACE_MS,
    );
    if (!("window" in reply)) throw new Error("the store returned no window");
    return reply.window;
  }

  async fill(request: Omit<Extract<StoreRequest, { kind: "fill" }>, "kind">): Promise<void> {
    await this.#ask({ kind: "fill", ...request }, FILL_TIMEOUT_MS);
  }

  async #ask(request: StoreRequest, timeoutMs: number): Promise<Exclude<StoreReply, { readonly error: string }>> {
    const reply = await this.#process.ask(request, timeoutMs);
    if ("error" in reply) throw new Error(`the store without an engine: ${reply.error}`);
    return reply;
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}
