import { arch, hostname, platform, release } from "node:os";
import { nodeAsyncContext } from "./calls/node-async-context.ts";
import { nodeChannels } from "./channels/node-channels.ts";
import { systemClock } from "./clock.ts";
import { resolveAddresses, streamsAddress } from "./connection/address.ts";
import * as frameTexts from "./connection/frame-texts.ts";
import { LeaveEngine } from "./connection/leave-engine.ts";
import { nodeSockets } from "./connection/node-socket.ts";
import * as requests from "./http/handle-request.ts";
import { type Http, requestHandler } from "./http/http.ts";
import { createLogger, jsonLine, type Logger, logLevelFrom } from "./logger.ts";
import { checkedOptions } from "./names/option-names.ts";
import { type WorkerOptions, workerOptions } from "./options.ts";
import { processIsEnding, shutDownOnSignals } from "./process-signals.ts";
import * as queueAndCron from "./queue-and-cron.ts";
import * as provider from "./registration/provider.ts";
import * as stateTransfer from "./state/state-transfer.ts";
import { StreamClient, type StreamClientOptions, streamClientOptions } from "./stream-client/stream-client.ts";
import { nodeProcessStats } from "./telemetry/node-process-stats.ts";
import { WorkerTelemetry } from "./telemetry/worker-telemetry.ts";
import { newUuid } from "./uuid.ts";
import { Worker } from "./worker.ts";

// Exported with `*`, because a project can merge its declarations only into exports that use `*` in every file of the
// chain.
export * from "./exports.ts";

/**
 * Turns a handler with request and response into a handler for `http` triggers. If the handler wrote to the response,
 * the response is ended when the handler returns. If the handler throws after it wrote, the response is aborted, so
 * that the client sees that it is incomplete. If the handler returns and wrote nothing, the response is 204. A request
 * body that was not read is cancelled.
 */
export const http: Http = (handler) =>
  requestHandler(
    () => requests,
    () => handler,
  );

export interface NodeWorkerOptions extends WorkerOptions {
  /**
   * Headers of the upgrade request, e.g. `authorization`. Default: a bearer header with `SVC_TOKEN`, if it is set and
   * the address has no password.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Called before each connection attempt, for example to check which process listens at the address. If it rejects,
   * the attempt fails with the same error.
   */
  readonly beforeConnect?: (() => Promise<void>) | undefined;
  /** If true, the first SIGTERM or SIGINT shuts down all workers of this process and exits with 0. Default true. */
  readonly handleSignals?: boolean | undefined;
}

const PLATFORM_OPTIONS = ["headers", "beforeConnect"];
const nodeWorkerOptions = workerOptions([...PLATFORM_OPTIONS, "handleSignals"]);
const nodeStreamOptions = streamClientOptions(PLATFORM_OPTIONS);

/**
 * Connects a worker to the engine and reconnects when the connection is lost. Returns at once. Registrations and calls
 * that are made before the connection is up are sent when it is.
 *
 * @param address `ws://` or `wss://` URL. Default: the environment variable `SVC_URL`; without it,
 * `ws://localhost:49134`. It may contain credentials: `ws://svc:TOKEN@host`. It may list the engines of a cluster,
 * separated by commas. After a loss of the connection, the next engine is tried at once.
 * @throws TypeError for another address, for options out of range and for unknown options.
 */
export function connect(address: string, options?: NodeWorkerOptions): Worker;
export function connect(options?: NodeWorkerOptions): Worker;
export function connect(first?: string | NodeWorkerOptions, second?: NodeWorkerOptions): Worker {
  const options = checkedOptions<NodeWorkerOptions>(
    (typeof first === "string" ? second : first) ?? {},
    nodeWorkerOptions,
  );
  const addresses = resolveAddresses(typeof first === "string" ? first : undefined, process.env.SVC_URL);
  const worker = new Worker(addresses, options, {
    openSocket: nodeSockets((address) => ({ ...tokenHeader(address), ...options.headers }), options.beforeConnect),
    channels: () => nodeChannels,
    provider: () => provider,
    http: () => requests,
    queueAndCron: () => queueAndCron,
    stateTransfer: () => stateTransfer,
    frameTexts: () => frameTexts,
    leaving: (...parts) => new LeaveEngine(...parts, systemClock),
    asyncContext: nodeAsyncContext,
    clock: systemClock,
    newId: newUuid,
    name: process.env.SVC_WORKER_NAME?.trim() || `${hostname()}:${process.pid}`,
    runtimeInfo: {
      runtime: "node",
      os: `${platform()} ${release()} (${arch()})`,
      pid: process.pid,
      isolation: process.env.SVC_ISOLATION,
      language: Intl.DateTimeFormat().resolvedOptions().locale,
      framework: "svc-node",
    },
    logger: stderrLogger(),
    telemetry: {
      byDefault: true,
      variable: process.env.SVC_TELEMETRY,
      createSink: (given) => new WorkerTelemetry(given),
    },
    stats: nodeProcessStats,
    processIsEnding,
  });
  if (options.handleSignals ?? true) shutDownOnSignals(worker);
  return worker;
}

export interface NodeStreamClientOptions extends StreamClientOptions {
  /**
   * Headers of the upgrade request, for example `authorization`. The default is a bearer header with `token`. If there
   * is no `token` and the URL has no password, it is a bearer header with `SVC_TOKEN`.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Called before each connection attempt, for example to check which process listens at the address. If it rejects,
   * the attempt fails with the same error.
   */
  readonly beforeConnect?: (() => Promise<void>) | undefined;
}

/**
 * Connects to the engine's streams, to receive their changes, and reconnects when the connection is lost. Returns at
 * once.
 *
 * @throws TypeError for an invalid URL, for options out of range and for unknown options.
 */
export function connectStreams(given: NodeStreamClientOptions = {}): StreamClient {
  const options = checkedOptions(given, nodeStreamOptions);
  const address = streamsAddress(options.url, options.query);
  const bearer = options.token === undefined ? tokenHeader(address) : { authorization: `Bearer ${options.token}` };
  const openSocket = nodeSockets(() => ({ ...bearer, ...options.headers }), options.beforeConnect);
  return new StreamClient(address, options, { openSocket, clock: systemClock, logger: stderrLogger() });
}

function tokenHeader(address: string): Readonly<Record<string, string>> {
  const token = process.env.SVC_TOKEN?.trim();
  return token === undefined || token === "" || new URL(address).password !== ""
    ? {}
    : { authorization: `Bearer ${token}` };
}

/** Returns a logger that writes JSON lines to stderr, because stdout belongs to the program. */
function stderrLogger(): Logger {
  return createLogger({
    level: logLevelFrom(process.env.SVC_LOG_LEVEL),
    write: (record) => process.stderr.write(`${jsonLine(record)}\n`),
  });
}
