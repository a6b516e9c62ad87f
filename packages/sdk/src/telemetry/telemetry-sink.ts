import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { LogEntry } from "./log-entry.ts";
import type { SpanRecord } from "./span-record.ts";
import type { TelemetrySwitches } from "./telemetry-options.ts";
import type { ProcessStats } from "./worker-gauges.ts";

/** Kinds of telemetry that are buffered, as they are named in messages. */
export type TelemetryEntries = "log entries" | "spans";

/** Receives the telemetry of a worker. */
export interface TelemetrySink {
  log(entry: LogEntry): void;
  span(span: SpanRecord): void;
  /** Starts sending. Called when the worker is connected. */
  registered(workerId: string): void;
  /** Stops sending. Called when the connection is lost. Buffered entries wait for the next connection. */
  disconnected(): void;
  /** Passes the buffered entries to the socket. Returns a promise if that must wait. For the shutdown. */
  flush(): Promise<void> | undefined;
}

export interface TelemetrySinkOptions {
  /** Name of the worker. */
  readonly name: string;
  readonly on: TelemetrySwitches;
  readonly clock: Clock;
  /** `svc-node` or the like. */
  readonly framework: string;
  /** OpenTelemetry's name of the language: `nodejs`, `webjs`. */
  readonly language: string;
  readonly pid: number | undefined;
  /** Absent if the platform cannot measure its process. */
  readonly stats: ProcessStats | undefined;
  /** The user's logger, which reports lost entries. */
  readonly logger: Logger;
  /** The worker's socket. */
  readonly socket: { bufferedBytes(): number; send(frame: Uint8Array): void };
}

/** Creates the sink of a worker's telemetry. */
export type CreateTelemetrySink = (options: TelemetrySinkOptions) => TelemetrySink;
