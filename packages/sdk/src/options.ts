import type { WorkerIntroduction } from "@svc-runtime/protocol/client";
import type { ReconnectOptions } from "./connection/backoff.ts";
import type { Logger } from "./logger.ts";
import { type OptionNames, optionNames } from "./names/option-names.ts";
import type { TelemetryOptions } from "./telemetry/telemetry-options.ts";

/** Options of `connect` on every platform. */
export interface WorkerOptions {
  /**
   * Name of the worker in listings. The default on Node is `SVC_WORKER_NAME`, or `host:pid` if that is not set. The
   * default in browsers is `browser`.
   */
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /**
   * Deadline of calls without `timeoutMs`, in milliseconds, 1 to 86,400,000. The default is the deadline with which the
   * function is registered, or `DEFAULT_TIMEOUT_MS` of `@svc-runtime/protocol`, 30,000.
   */
  readonly callTimeoutMs?: number | undefined;
  readonly reconnect?: ReconnectOptions | undefined;
  /** Logger of the worker and its handlers. Default: JSON lines on stderr on Node, the console in browsers. */
  readonly logger?: Logger | undefined;
  /**
   * Telemetry that the worker sends to the engine. On Node, the default is everything, unless the variable
   * `SVC_TELEMETRY` is `off` or `kind` is not `worker`. In browsers, the default is nothing.
   */
  readonly telemetry?: boolean | TelemetryOptions | undefined;
  /** Kind of process. Only processes of the kind `worker` are counted as active worker processes. Default `worker`. */
  readonly kind?: WorkerIntroduction["kind"];
}

const WORKER_OPTIONS = ["name", "description", "callTimeoutMs", "reconnect", "logger", "telemetry", "kind"];

/** Returns the names of the options of `connect`. `own` are the additional options of the platform. */
export function workerOptions(own: readonly string[]): OptionNames {
  return optionNames("connect", [...WORKER_OPTIONS, ...own]);
}

export interface WaitOptions {
  /** Maximum time to wait, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** @deprecated Use `timeoutMs`. */
  readonly timeout_ms?: number | undefined;
}

export function waitOptions(method: string): OptionNames {
  return optionNames(method, ["timeoutMs"], { timeout_ms: "timeoutMs" });
}

/** Facts about the platform. The worker sends them when it introduces itself. */
export interface RuntimeInfo {
  readonly runtime: string;
  readonly os: string;
  readonly pid?: number | undefined;
  readonly isolation?: string | undefined;
  readonly language?: string | undefined;
  readonly framework: string;
}
