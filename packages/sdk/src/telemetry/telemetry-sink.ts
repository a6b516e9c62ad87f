import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { LogEntry } from "./log-entry.ts";
import type { SpanRecord } from "./span-record.ts";
import type { TelemetrySwitches } from "./telemetry-options.ts";
import type { ProcessStats } from "./worker-gauges.ts";

/** Kinds of telemetry that are buffered. Messages use these names. */
export type TelemetryEntries = "log entries" | "spans";

/** Receives the telemetry of a worker. */
export interface TelemetrySink {
  log(entry: LogEntry): void;
  span(span: SpanRecord): void;
  /** Starts sending. Called when the worker is connected. */
  registered(workerId: string): void;
  /** Stops sending. Called when the connection is lost. Buffered entries wait for the next connection. */
  disconnected(): void;
  /**
   * Passes the buffered entries to the socket. Returns a promise if they cannot be passed at once. Used by the
   * shutdown.
   */
  flush(): Promise<void> | undefined;
}

export interface TelemetrySinkOptions {
  /** Name of the worker. */
  readonly name: string;
  readonly on: TelemetrySwitches;
  readonly clock: Clock;
  /** Name of this SDK, for example `svc-node`. */
  readonly framework: string;
  /** Name of the language in OpenTelemetry: `nodejs` or `webjs`. */
  readonly language: string;
  readonly pid: number | undefined;
  /** Undefined if the platform cannot measure its process. */
  readonly stats: ProcessStats | undefined;
  /** The user's logger. It is used to report lost entries. */
  readonly logger: Logger;
  /** The worker's socket. */
  readonly socket: { bufferedBytes(): number; send(frame: Uint8Array): void };
}

/** Creates the sink of a worker's telemetry. */
export type CreateTelemetrySink = (options: TelemetrySinkOptions) => TelemetrySink;
