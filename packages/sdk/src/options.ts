import type { WorkerIntroduction } from "@svc/protocol";
import type { ReconnectOptions } from "./backoff.ts";
import type { Logger } from "./logger.ts";
import type { TelemetryOptions } from "./telemetry/telemetry-options.ts";

/** What `connect` takes on every platform. */
export interface WorkerOptions {
  /** How listings show this worker. On Node the default is `SVC_WORKER_NAME`, else `host:pid`; in browsers it is `browser`. */
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** Deadline of calls that name none, in milliseconds, 1 to 86,400,000. Default: what the function registered with, else 30,000. */
  readonly callTimeoutMs?: number | undefined;
  readonly reconnect?: ReconnectOptions | undefined;
  /** Where the worker and its handlers log. Default: JSON lines on stderr on Node, the console in browsers. */
  readonly logger?: Logger | undefined;
  /**
   * What the engine is told of this worker's work besides its answers. Default on Node: everything, unless the variable `SVC_TELEMETRY` is `off` or
   * `kind` is not `worker`; in browsers: nothing.
   */
  readonly telemetry?: boolean | TelemetryOptions | undefined;
  /** What kind of process this is; only `worker` counts among the active worker processes. Default `worker`. */
  readonly kind?: WorkerIntroduction["kind"];
}

/** What differs between platforms. */
export interface Greeting {
  readonly runtime: string;
  readonly os: string;
  readonly pid?: number | undefined;
  readonly isolation?: string | undefined;
  readonly language?: string | undefined;
  readonly framework: string;
}
