import type { LogRecord } from "../telemetry-records.ts";

export interface StoredLog {
  /** Grows with each entry, by one while the engine runs; never reused. */
  readonly id: number;
  readonly log: LogRecord;
}
