import { arch, hostname, platform, release } from "node:os";
import { resolveAddress, streamsAddress } from "./address.ts";
import { nodeChannelSockets } from "./channels/node-channel-socket.ts";
import { systemClock } from "./clock.ts";
import { createLogger, jsonLine, type Logger, logLevelFrom } from "./logger.ts";
import { nodeAmbient } from "./node-ambient.ts";
import { nodeSockets } from "./node-socket.ts";
import type { WorkerOptions } from "./options.ts";
import { processIsEnding, shutDownOnSignals } from "./process-signals.ts";
import { StreamClient, type StreamClientOptions } from "./stream-client/stream-client.ts";
import { nodeFigures } from "./telemetry/node-figures.ts";
import { newUuid } from "./uuid.ts";
import { Worker } from "./worker.ts";

// By star, because a project can only merge its declarations into what comes by star all the way.
export * from "./exports.ts";

export interface NodeWorkerOptions extends WorkerOptions {
  /** Headers of the upgrade, e.g. `authorization`. Default: a bearer header of `SVC_TOKEN` where that is set and the address has no password. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Runs before each attempt to connect, e.g. to check who listens at the address. The attempt fails with its error when it rejects. */
  readonly beforeConnect?: (() => Promise<void>) | undefined;
  /** On SIGTERM and SIGINT, once: shut all workers of this process down and exit 0. Default true. */
  readonly handleSignals?: boolean | undefined;
}

/**
 * Connects a worker to the engine and keeps it connected. Returns at once: what is registered and called before the connection
 * stands is sent when it does.
 *
 * @param address `ws://` or `wss://` URL; default the environment's `SVC_URL`, else `ws://localhost:49134`. May hold
 *   credentials: `ws://svc:TOKEN@host`.
 * @throws TypeError for an address that is no such URL and for options out of range.
 */
export function connect(address: string, options?: NodeWorkerOptions): Worker;
export function connect(options?: NodeWorkerOptions): Worker;
export function connect(first?: string | NodeWorkerOptions, second?: NodeWorkerOptions): Worker {
  const options = (typeof first === "string" ? second : first) ?? {};
  const address = resolveAddress(typeof first === "string" ? first : undefined, process.env.SVC_URL);
  const worker = new Worker(address, options, {
    openSocket: nodeSockets({ ...tokenHeader(address), ...options.headers }, options.beforeConnect),
    openChannelSocket: nodeChannelSockets,
    ambient: nodeAmbient,
    clock: systemClock,
    newId: newUuid,
    name: process.env.SVC_WORKER_NAME?.trim() || `${hostname()}:${process.pid}`,
    greeting: {
      runtime: "node",
      os: `${platform()} ${release()} (${arch()})`,
      pid: process.pid,
      isolation: process.env.SVC_ISOLATION,
      language: Intl.DateTimeFormat().resolvedOptions().locale,
      framework: "svc-node",
    },
    logger: stderrLogger(),
    telemetry: { byDefault: true, variable: process.env.SVC_TELEMETRY },
    figures: nodeFigures,
    processIsEnding,
  });
  if (options.handleSignals ?? true) shutDownOnSignals(worker);
  return worker;
}

export interface NodeStreamClientOptions extends StreamClientOptions {
  /** Headers of the upgrade, e.g. `authorization`. Default: a bearer header of `token`, else of `SVC_TOKEN` where the URL has no password. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Runs before each attempt to connect, e.g. to check who listens at the address. The attempt fails with its error when it rejects. */
  readonly beforeConnect?: (() => Promise<void>) | undefined;
}

/**
 * Connects to the engine's streams, to see what happens in them, and keeps connected. Returns at once.
 *
 * @throws TypeError for a URL that is none and for options out of range.
 */
export function connectStreams(options: NodeStreamClientOptions = {}): StreamClient {
  const address = streamsAddress(options.url, options.query);
  const bearer = options.token === undefined ? tokenHeader(address) : { authorization: `Bearer ${options.token}` };
  const openSocket = nodeSockets({ ...bearer, ...options.headers }, options.beforeConnect);
  return new StreamClient(address, options, { openSocket, clock: systemClock, logger: stderrLogger() });
}

function tokenHeader(address: string): Readonly<Record<string, string>> {
  const token = process.env.SVC_TOKEN?.trim();
  return token === undefined || token === "" || new URL(address).password !== "" ? {} : { authorization: `Bearer ${token}` };
}

/** JSON lines on stderr: stdout belongs to the program. */
function stderrLogger(): Logger {
  return createLogger({ level: logLevelFrom(process.env.SVC_LOG_LEVEL), write: (record) => process.stderr.write(`${jsonLine(record)}\n`) });
}
