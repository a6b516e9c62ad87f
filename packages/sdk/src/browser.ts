import { noAmbient } from "./active-call.ts";
import { resolveAddress } from "./address.ts";
import { browserSockets } from "./browser-socket.ts";
import { systemClock } from "./clock.ts";
import { createLogger, type Logger } from "./logger.ts";
import type { WorkerOptions } from "./options.ts";
import { newUuid } from "./uuid.ts";
import { Worker } from "./worker.ts";

export { CallError, type Caller, type ErrorCode, type Job } from "@svc/protocol";
export type { ReconnectOptions } from "./backoff.ts";
export type { CallContext, CallOptions, CallRequest, EnqueueReceipt, EnqueueRequest, Handler, PayloadOf, ResultOf } from "./calls.ts";
export type { ConnectionState } from "./connection.ts";
// By star, because a module can only merge its declarations into what another one exports by star (or declares itself).
export * from "./functions.ts";
export type { HttpFunction, HttpFunctionAuth } from "./http-function.ts";
export { createLogger, jsonLine, type LogFields, type Logger, type LoggerOptions, type LogLevel, type LogRecord, silentLogger } from "./logger.ts";
export type { WorkerOptions } from "./options.ts";
export type { Binding } from "./provided-bindings.ts";
export type { FunctionOptions, Registration, TriggerTypeInput } from "./registration-options.ts";
export type { Format, JsonSchema } from "./schema.ts";
export type { TriggerResult } from "./session.ts";
export type { TriggerHandlers } from "./trigger-providers.ts";
export type { RegisteredTrigger, TriggerInput } from "./triggers.ts";
export { VERSION } from "./version.ts";
export type { WaitOptions, Worker } from "./worker.ts";

/**
 * Connects a page to the engine and keeps it connected. As on Node, but over the platform's WebSocket: no headers, no pings,
 * and only `context.call` (not `worker.call`) passes a handler's trace on.
 *
 * @param address `ws://` or `wss://` URL; default `ws://localhost:49134`.
 * @throws TypeError for an address that is no such URL and for options out of range.
 */
export function connect(address: string, options?: WorkerOptions): Worker;
export function connect(options?: WorkerOptions): Worker;
export function connect(first?: string | WorkerOptions, second?: WorkerOptions): Worker {
  const options = (typeof first === "string" ? second : first) ?? {};
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string; readonly language?: string } };
  return new Worker(resolveAddress(typeof first === "string" ? first : undefined, undefined), options, {
    openSocket: browserSockets,
    ambient: noAmbient,
    clock: systemClock,
    newId: newUuid,
    name: "browser",
    greeting: { runtime: "browser", os: navigator?.userAgent ?? "unknown", language: navigator?.language, framework: "svc-browser" },
    logger: consoleLogger(),
  });
}

function consoleLogger(): Logger {
  // biome-ignore lint/suspicious/noConsole: the console is where a page logs
  return createLogger({ write: ({ level, message, fields }) => console[level](message, fields) });
}
