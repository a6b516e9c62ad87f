import type { LogRecord } from "../telemetry-records.ts";

export interface StoredLog {
  /** Id of the entry. Ids increase, by one while the engine runs, and are never reused. */
  readonly id: number;
  readonly log: LogRecord;
}
