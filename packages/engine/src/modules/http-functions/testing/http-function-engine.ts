import {
  type InMemoryEngine,
  type InMemoryEngineOptions,
  type InMemoryWorker,
  inMemoryEngine,
} from "../../../testing/index.ts";
import type { HttpFunctionRules, HttpFunctionsOptions } from "../http-functions.ts";
import { httpFunctions } from "../index.ts";

export const STRICT: HttpFunctionRules = { urlAllowlist: [], blockPrivateIps: true, requireHttps: true, retries: 2 };
/** The settings of a developer who calls a local server. */
export const RELAXED: HttpFunctionRules = { ...STRICT, blockPrivateIps: false, requireHttps: false };

export interface HttpFunctionEngine extends InMemoryEngine {
  readonly worker: InMemoryWorker;
  /** Registers a function and resolves with the error frame, or undefined if it was accepted. */
  register(id: string, invocation: Readonly<Record<string, unknown>>): Promise<Record<string, unknown> | undefined>;
}

/** An engine with this module, a worker, and the shortest pauses between attempts. */
export async function httpFunctionEngine(
  options: Partial<HttpFunctionsOptions> & { readonly engine?: InMemoryEngineOptions } = {},
): Promise<HttpFunctionEngine> {
  const { engine: engineOptions, ...own } = options;
  const engine = await inMemoryEngine({
    ...engineOptions,
    modules: [httpFunctions({ rules: () => RELAXED, env: {}, random: () => 0, ...own })],
  });
  const worker = await engine.connectWorker({ name: "registrar" });
  return Object.assign(Object.create(engine) as InMemoryEngine, {
    worker,
    async register(id: string, invocation: Readonly<Record<string, unknown>>) {
      worker.say({ type: "registerfunction", id, invocation });
      worker.say({ type: "ping" });
      const frame = await worker.next((received) => received.type === "error" || received.type === "pong");
      if (frame.type === "pong") return undefined;
      await worker.next((received) => received.type === "pong");
      return frame.error as Record<string, unknown>;
    },
  });
}
