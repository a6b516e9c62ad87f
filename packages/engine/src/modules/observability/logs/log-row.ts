import type { Attributes } from "../../../kernel/telemetry-contract.ts";
import type { SeverityText } from "../model.ts";
import { functionOf, searchedTexts, workerIdOf, workerOf } from "./log-filter.ts";
import type { RedactAttributes } from "./log-json.ts";
import type { StoredLog } from "./log-store.ts";
import { redactRecord } from "./redact-record.ts";
import { severityTextOf } from "./severity.ts";

const NANOS_PER_MS = 1_000_000n;

/** An entry as the database has it. Nanoseconds are in two parts, since one number of SQLite's drivers does not hold them. */
export interface LogRow {
  readonly id: number;
  /** When it came, by the engine's clock: times of entries are told by those who log. */
  readonly arrived_ms: number;
  readonly time_ms: number;
  readonly time_rest: number;
  readonly severity: number;
  readonly service: string;
  readonly worker: string;
  readonly worker_id: string | null;
  readonly function_id: string | null;
  readonly trace_id: string | null;
  readonly span_id: string | null;
  /** JSON of all else, and of what columns do not hold to the letter: they end texts at a zero character. */
  readonly rest: string;
  readonly [column: string]: string | number | null;
}

interface Rest {
  readonly body: string;
  readonly service: string;
  readonly observed: string;
  readonly attributes: Attributes;
  readonly resource: Attributes;
  readonly workerId: string | undefined;
  readonly scopeName: string | undefined;
  readonly scopeVersion: string | undefined;
}

/** What `redact` hides does not come to the disk. The columns are of who wrote the entry. */
export function rowOf({ id, log }: StoredLog, arrivedMs: number, redact: RedactAttributes): LogRow {
  const kept = redactRecord(log, redact);
  const rest: Rest = {
    body: log.body,
    service: log.resource.service,
    observed: String(log.observedUnixNano),
    attributes: kept.attributes,
    resource: kept.resource.attributes,
    workerId: log.resource.workerId,
    scopeName: log.scopeName,
    scopeVersion: log.scopeVersion,
  };
  return {
    id,
    arrived_ms: Math.floor(arrivedMs),
    time_ms: Number(log.timeUnixNano / NANOS_PER_MS),
    time_rest: Number(log.timeUnixNano % NANOS_PER_MS),
    severity: log.severityNumber,
    service: log.resource.service,
    worker: workerOf(log),
    worker_id: workerIdOf(log) ?? null,
    function_id: functionOf(log) ?? null,
    trace_id: log.traceId ?? null,
    span_id: log.spanId ?? null,
    rest: JSON.stringify(rest),
  };
}

export function entryOf(row: LogRow): StoredLog {
  const rest = JSON.parse(row.rest) as Rest;
  const severityText: SeverityText = severityTextOf(row.severity);
  return {
    id: row.id,
    log: {
      timeUnixNano: BigInt(row.time_ms) * NANOS_PER_MS + BigInt(row.time_rest),
      observedUnixNano: BigInt(rest.observed),
      severityNumber: row.severity,
      severityText,
      body: rest.body,
      attributes: rest.attributes,
      traceId: row.trace_id ?? undefined,
      spanId: row.span_id ?? undefined,
      resource: { service: rest.service, workerId: rest.workerId, attributes: rest.resource },
      scopeName: rest.scopeName,
      scopeVersion: rest.scopeVersion,
    },
  };
}

/** What the text index has of an entry; the same whenever it is asked for, since the index is told it again when the entry goes. */
export function indexedText(entry: StoredLog): string {
  return searchable([...searchedTexts(entry.log)].join("\n").toLowerCase());
}

/** About what a row takes in the file. */
export function rowBytes(row: LogRow): number {
  return 200 + 2 * row.rest.length;
}

/** Text as the index takes it: for SQLite a zero character ends a text. */
export function searchable(text: string): string {
  return text.replaceAll("\0", " ");
}
