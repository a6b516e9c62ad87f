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

// Exported with `*`, because a project can merge its declarations only into exports that use `*` in every file of the
// chain.
export * from "./exports.ts";

// Parts that a page loads when they are first used.
const requests = () => import("./http/handle-request.ts");
const telemetry = async (): Promise<CreateTelemetry> => {
  const { WorkerTelemetry } = await import("./telemetry/worker-telemetry.ts");
  return (options) => new WorkerTelemetry(options);
};

/**
 * Turns a handler with request and response into a handler for `http` triggers. If the handler wrote to the response,
 * the response is ended when the handler returns. If the handler throws after it wrote, the response is aborted, so
 * that the client sees that it is incomplete. If the handler returns and wrote nothing, the response is 204. A request
 * body that was not read is cancelled.
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
 * Connects a page to the engine and keeps it connected. It works as on Node, with two differences because it uses the
 * platform's WebSocket: it sends no headers and no pings. Only `context.call` (not `worker.call`) passes a handler's
 * trace on.
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
 * Connects to the engine's streams, to receive their changes, and reconnects when the connection is lost. Returns at
 * once.
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
