import type { Attributes, LogEntry } from "@svc-runtime/engine/module";
import type { LogRecord, Resource } from "../telemetry-records.ts";
import { severityTextOf, validSeverityNumber } from "./severity.ts";

const NO_ATTRIBUTES: Attributes = Object.freeze(Object.create(null) as Record<string, never>);
const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/;
/** Latest time that OTLP's unsigned 64-bit nanoseconds can express, in milliseconds: the year 2554. */
const MAX_TIME_MS = 18_446_744_073_709;

export interface RecordDefaults {
  readonly service: string;
  readonly nowMs: number;
}

/** Converts an entry of a module or of the engine to a record. A time out of range is replaced by `nowMs`. */
export function recordOfEntry(entry: LogEntry, { service, nowMs }: RecordDefaults): LogRecord {
  const severityNumber = validSeverityNumber(entry.severity);
  const resource: Resource = {
    service: entry.service ?? service,
    workerId: textOf(entry.attributes?.["svc.worker.id"]),
    attributes: entry.resource ?? NO_ATTRIBUTES,
  };
  return {
    timeUnixNano: nanosOf(entry.timeMs ?? nowMs, nowMs),
    observedUnixNano: nanosOf(nowMs, nowMs),
    severityNumber,
    severityText: severityTextOf(severityNumber),
    body: entry.body,
    attributes: entry.attributes ?? NO_ATTRIBUTES,
    traceId: validTraceId(entry.traceId),
    spanId: validSpanId(entry.spanId),
    resource,
    scopeName: entry.scopeName,
    scopeVersion: undefined,
  };
}

/** Returns the id in lower case; undefined if it is invalid. */
export function validTraceId(text: string | null | undefined): string | undefined {
  const id = text?.toLowerCase();
  return id !== undefined && TRACE_ID.test(id) ? id : undefined;
}

export function validSpanId(text: string | null | undefined): string | undefined {
  const id = text?.toLowerCase();
  return id !== undefined && SPAN_ID.test(id) ? id : undefined;
}

/** Converts milliseconds with a fraction to nanoseconds; uses `otherwiseMs` if the time is out of range. */
export function nanosOf(ms: number, otherwiseMs: number): bigint {
  const held = ms >= 0 && ms < MAX_TIME_MS ? ms : otherwiseMs;
  const whole = Math.floor(held);
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((held - whole) * 1_000_000));
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
