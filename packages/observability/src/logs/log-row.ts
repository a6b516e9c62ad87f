import type { Attributes } from "@svc-runtime/engine/module";
import type { SeverityText } from "../telemetry-records.ts";
import { functionOf, searchedTexts, workerIdOf, workerOf } from "./log-filter.ts";
import { type RedactAttributes, redactRecord } from "./log-json.ts";
import { severityTextOf } from "./severity.ts";
import type { StoredLog } from "./stored-log.ts";

const NANOS_PER_MS = 1_000_000n;

/**
 * An entry as a database row. Its time takes two columns, because SQLite drivers cannot return nanoseconds as one
 * number.
 */
export interface LogRow {
  readonly id: number;
  /** Time of arrival by the engine's clock. The entry's own time comes from its sender. */
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
  /** JSON with all other members. It also has texts that contain NUL characters, because SQLite ends a text at NUL. */
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

/**
 * Converts an entry to a row. Secrets are masked, so that they are not written to disk. The columns describe the writer
 * of the entry.
 */
export function rowOf({ id, log }: StoredLog, arrivedMs: number, redact: RedactAttributes): LogRow {
  const masked = redactRecord(log, redact);
  const rest: Rest = {
    body: log.body,
    service: log.resource.service,
    observed: String(log.observedUnixNano),
    attributes: masked.attributes,
    resource: masked.resource.attributes,
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

/**
 * Returns the text for the text index. It is deterministic, because removing an entry from the index needs the same
 * text.
 */
export function indexedText(entry: StoredLog): string {
  return searchable([...searchedTexts(entry.log)].join("\n").toLowerCase());
}

/** Returns the approximate size of a row in the file. */
export function rowBytes(row: LogRow): number {
  return 200 + 2 * row.rest.length;
}

/** Replaces NUL characters, because SQLite would end a text there. */
export function searchable(text: string): string {
  return text.replaceAll("\0", " ");
}
