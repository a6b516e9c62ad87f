import { idleProgram } from "../pinning.ts";
import { RequestProcess } from "../processes.ts";

/** Longer than all that one request waits for. */
const TIMEOUT_MS = 240_000;

export type BrowserRequest =
  | { readonly kind: "open"; readonly url: string; readonly isThere: string }
  | { readonly kind: "read" }
  | { readonly kind: "close" }
  | { readonly kind: "first-load"; readonly url: string; readonly isThere: string; readonly isWhole: string };

/** What the first load of a page transfers, compressed and including WebSocket messages. */
export interface Transfers {
  readonly requests: number;
  readonly kb: number;
}

export interface BrowserReply {
  readonly error?: string;
  readonly text?: string;
  readonly transfers?: Transfers;
}

/**
 * A browser and the program that drives it, in a process of their own. The program reads each message that the page
 * receives. In the process of the bench, this would delay the measured calls. Both get only the processor time that no
 * other process needs, because a user's browser runs on another machine; without `chrt` they get more.
 */
export class BrowserProcess {
  readonly #process: RequestProcess<BrowserRequest, BrowserReply>;

  private constructor(process: RequestProcess<BrowserRequest, BrowserReply>) {
    this.#process = process;
  }

  /** `folder`: the folder in which the script that starts the process is written. */
  static async start(folder: string): Promise<BrowserProcess> {
    const execPath = idleProgram(process.execPath, folder);
    return new BrowserProcess(
      await RequestProcess.start("console/browser-main", [], { execPath, timeoutMs: TIMEOUT_MS }),
    );
  }

  /** Shows a page. Resolves when the JavaScript expression `isThere` is true in it. */
  async open(url: string, isThere: string): Promise<void> {
    await this.#ask({ kind: "open", url, isThere });
  }

  /** Returns the text of the shown page. */
  async text(): Promise<string> {
    return (await this.#ask({ kind: "read" })).text ?? "";
  }

  async close(): Promise<void> {
    await this.#ask({ kind: "close" });
  }

  /** Loads a page with an empty cache, until both expressions are true and no request is left. */
  async firstLoad(url: string, isThere: string, isWhole: string): Promise<Transfers> {
    const { transfers } = await this.#ask({ kind: "first-load", url, isThere, isWhole });
    if (transfers === undefined) throw new Error("the browser's process returned no transfers");
    return transfers;
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }

  async #ask(request: BrowserRequest): Promise<BrowserReply> {
    const reply = await this.#process.ask(request, TIMEOUT_MS);
    if (reply.error !== undefined) throw new Error(reply.error);
    return reply;
  }
}
