import { noAmbient } from "./active-call.ts";
import { resolveAddress, streamsAddress } from "./address.ts";
import { browserSockets } from "./browser-socket.ts";
import { browserChannelSockets } from "./channels/browser-channel-socket.ts";
import { systemClock } from "./clock.ts";
import { createLogger, type Logger } from "./logger.ts";
import type { WorkerOptions } from "./options.ts";
import { StreamClient, type StreamClientOptions } from "./stream-client/stream-client.ts";
import { newUuid } from "./uuid.ts";
import { Worker } from "./worker.ts";

// By star, because a project can only merge its declarations into what comes by star all the way.
export * from "./exports.ts";

export interface BrowserWorkerOptions extends WorkerOptions {
  /** The engine's token, where it wants one. Default: the password in the address. It goes as a WebSocket subprotocol, since pages cannot set headers. */
  readonly token?: string | undefined;
}

/**
 * Connects a page to the engine and keeps it connected. As on Node, but over the platform's WebSocket: no headers, no pings,
 * and only `context.call` (not `worker.call`) passes a handler's trace on.
 *
 * @param address `ws://` or `wss://` URL; default `ws://localhost:49134`.
 * @throws TypeError for an address that is no such URL and for options out of range.
 */
export function connect(address: string, options?: BrowserWorkerOptions): Worker;
export function connect(options?: BrowserWorkerOptions): Worker;
export function connect(first?: string | BrowserWorkerOptions, second?: BrowserWorkerOptions): Worker {
  const options = (typeof first === "string" ? second : first) ?? {};
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string; readonly language?: string } };
  return new Worker(resolveAddress(typeof first === "string" ? first : undefined, undefined), options, {
    openSocket: browserSockets(options.token),
    openChannelSocket: browserChannelSockets,
    ambient: noAmbient,
    clock: systemClock,
    newId: newUuid,
    name: "browser",
    greeting: { runtime: "browser", os: navigator?.userAgent ?? "unknown", language: navigator?.language, framework: "svc-browser" },
    logger: consoleLogger(),
    telemetry: { byDefault: false, variable: undefined },
  });
}

/**
 * Connects to the engine's streams, to see what happens in them, and keeps connected. Returns at once.
 *
 * @throws TypeError for a URL that is none and for options out of range.
 */
export function connectStreams(options: StreamClientOptions = {}): StreamClient {
  const address = streamsAddress(options.url, options.query);
  return new StreamClient(address, options, { openSocket: browserSockets(options.token), clock: systemClock, logger: consoleLogger() });
}

function consoleLogger(): Logger {
  // biome-ignore lint/suspicious/noConsole: the console is where a page logs
  return createLogger({ write: ({ level, message, fields }) => console[level](message, fields) });
}
