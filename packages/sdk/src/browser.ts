import { noAsyncContext } from "./calls/async-context.ts";
import { systemClock } from "./clock.ts";
import { resolveAddresses, streamsAddress } from "./connection/address.ts";
import { browserSockets } from "./connection/browser-socket.ts";
import { type Http, requestHandler } from "./http/http.ts";
import { createLogger, type Logger } from "./logger.ts";
import { checkedOptions } from "./names/option-names.ts";
import { type WorkerOptions, workerOptions } from "./options.ts";
import { StreamClient, type StreamClientOptions, streamClientOptions } from "./stream-client/stream-client.ts";
import { type CreateTelemetry, TelemetryOnDemand } from "./telemetry/telemetry-on-demand.ts";
import { newUuid } from "./uuid.ts";
import { Worker } from "./worker.ts";

// Exported with `*`, because a project can only merge its declarations into exports that use `*` all the way.
export * from "./exports.ts";

// Parts that a page loads at their first use.
const requests = () => import("./http/handle-request.ts");
const telemetry = async (): Promise<CreateTelemetry> => {
  const { WorkerTelemetry } = await import("./telemetry/worker-telemetry.ts");
  return (options) => new WorkerTelemetry(options);
};

/**
 * Wraps a handler with request and response as a handler for `http` triggers. When the handler returns, a written
 * response is ended. When it throws, a written response is aborted, so that the client sees that it is incomplete. A
 * handler that returns and writes nothing responds with 204. An unread body is cancelled.
 */
export const http: Http = (handler) => requestHandler(requests, () => handler);

export interface BrowserWorkerOptions extends WorkerOptions {
  /**
   * The engine's token, if it requires one. Default: the password in the address. It is sent as a WebSocket
   * subprotocol, since pages cannot set headers.
   */
  readonly token?: string | undefined;
}

/**
 * Connects a page to the engine and keeps it connected. As on Node, but over the platform's WebSocket: it sends no
 * headers and no pings, and only `context.call` (not `worker.call`) passes a handler's trace on.
 *
 * @param address `ws://` or `wss://` URL. Default `ws://localhost:49134`.
 * @throws TypeError for another address, for options out of range and for unknown options.
 */
export function connect(address: string, options?: BrowserWorkerOptions): Worker;
export function connect(options?: BrowserWorkerOptions): Worker;
export function connect(first?: string | BrowserWorkerOptions, second?: BrowserWorkerOptions): Worker {
  const options = checkedOptions<BrowserWorkerOptions>(
    (typeof first === "string" ? second : first) ?? {},
    workerOptions(["token"]),
  );
  const { navigator } = globalThis as {
    readonly navigator?: { readonly userAgent?: string; readonly language?: string };
  };
  return new Worker(resolveAddresses(typeof first === "string" ? first : undefined, undefined), options, {
    openSocket: browserSockets(options.token),
    channels: async () => (await import("./channels/browser-channels.ts")).browserChannels,
    provider: () => import("./registration/provider.ts"),
    http: requests,
    queueAndCron: () => import("./queue-and-cron.ts"),
    stateTransfer: () => import("./state/state-transfer.ts"),
    frameTexts: () => import("./connection/frame-texts.ts"),
    asyncContext: noAsyncContext,
    clock: systemClock,
    newId: newUuid,
    name: "browser",
    runtimeInfo: {
      runtime: "browser",
      os: navigator?.userAgent ?? "unknown",
      language: navigator?.language,
      framework: "svc-browser",
    },
    logger: consoleLogger(),
    telemetry: {
      byDefault: false,
      variable: undefined,
      createSink: (given) => new TelemetryOnDemand(telemetry, given),
    },
  });
}

/**
 * Connects to the engine's streams, to receive their changes, and keeps the connection. Returns at once.
 *
 * @throws TypeError for an invalid URL, for options out of range and for unknown options.
 */
export function connectStreams(given: StreamClientOptions = {}): StreamClient {
  const options = checkedOptions(given, streamClientOptions([]));
  const address = streamsAddress(options.url, options.query);
  return new StreamClient(address, options, {
    openSocket: browserSockets(options.token),
    clock: systemClock,
    logger: consoleLogger(),
  });
}

function consoleLogger(): Logger {
  // biome-ignore lint/suspicious/noConsole: pages log to the console
  return createLogger({ write: ({ level, message, fields }) => console[level](message, fields) });
}
