import { randomUUID } from "node:crypto";
import { connectRaw, type RawFrame, type RawWorker } from "../../compat/support/raw-worker.ts";

/** A worker that sends plain frames, so that it can send what no SDK sends. */
export interface Client extends RawWorker {
  readonly name: string;
  /** Registers a function and answers its calls. Resolves when the engine has handled the registration. */
  serve(id: string, handle: (data: unknown, frame: RawFrame) => unknown, more?: RawFrame): Promise<void>;
  /** Sends a registration and resolves with the code of its refusal, or undefined if it was accepted. */
  register(frame: RawFrame): Promise<string | undefined>;
  /** Registers a trigger and resolves with its `triggerregistrationresult`. */
  bind(triggerType: string, functionId: string, config: unknown, more?: RawFrame): Promise<RawFrame>;
  /** Calls a function and resolves with its result. Rejects with `CODE: message` if it fails. */
  result(functionId: string, data?: unknown, more?: RawFrame): Promise<unknown>;
  /** Calls a function and resolves with the code of its error, or undefined if it succeeded. */
  codeOf(functionId: string, data?: unknown, more?: RawFrame): Promise<string | undefined>;
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
}

const errorOf = (frame: RawFrame): { readonly code: string; readonly message: string } | undefined =>
  (frame.error ?? undefined) as { code: string; message: string } | undefined;

/** Connects a worker that introduces itself. Sends `token` as the password of the address. */
export async function connectClient(
  address: string,
  options: { readonly name?: string; readonly token?: string; readonly kind?: string } = {},
): Promise<Client> {
  const { name = "client", token, kind } = options;
  const raw = await connectRaw(
    token === undefined ? address : address.replace("://", `://svc:${encodeURIComponent(token)}@`),
  );
  const handlers = new Map<string, (data: unknown, frame: RawFrame) => unknown>();
  raw.socket.on("error", () => {});
  const closed = new Promise<number>((resolve) => void raw.socket.once("close", resolve));
  raw.socket.on("message", async (text) => {
    const frame = JSON.parse(String(text)) as RawFrame;
    if (frame.type !== "invokefunction") return;
    const handle = handlers.get(String(frame.function_id));
    if (handle === undefined) return;
    const answer = { type: "invocationresult", invocation_id: frame.invocation_id, function_id: frame.function_id };
    try {
      const result = (await handle(frame.data, frame)) ?? null;
      if (frame.invocation_id !== undefined) raw.say({ ...answer, result });
    } catch (thrown) {
      raw.say({ ...answer, error: { code: "failed", message: String(thrown) } });
    }
  });
  const client: Client = {
    ...raw,
    name,
    closed,
    async serve(id, handle, more = {}) {
      handlers.set(id, handle);
      raw.say({ type: "registerfunction", id, ...more });
      await raw.settled();
    },
    async register(frame) {
      const { length } = raw.received;
      raw.say(frame);
      await raw.settled();
      const refusal = raw.received.slice(length).find(({ type }) => type === "error");
      return refusal === undefined ? undefined : errorOf(refusal)?.code;
    },
    async bind(triggerType, functionId, config, more = {}) {
      const id = randomUUID();
      raw.say({ type: "registertrigger", id, trigger_type: triggerType, function_id: functionId, config, ...more });
      return raw.next(
        (frame) => frame.type === "triggerregistrationresult" && frame.id === id,
        `the result of a ${triggerType} trigger`,
      );
    },
    async result(functionId, data = {}, more = {}) {
      const frame = await raw.call(functionId, { data, ...more });
      const error = errorOf(frame);
      if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
      return frame.result;
    },
    async codeOf(functionId, data = {}, more = {}) {
      return errorOf(await raw.call(functionId, { data, ...more }))?.code;
    },
  };
  const features = ["registration_results", "error_details", "deadlines", "cancel", "caller"];
  await client.result("engine::workers::register", {
    name,
    runtime: "raw",
    pid: process.pid,
    features,
    ...(kind === undefined ? {} : { kind }),
  });
  return client;
}
