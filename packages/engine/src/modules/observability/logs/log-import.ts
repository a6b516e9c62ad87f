import { z } from "zod";
import type { AttributeValue } from "../../../kernel/telemetry-contract.ts";
import type { DropCounter, LogRecord } from "../model.ts";
import { decodeLogs } from "../otlp/decode-logs.ts";
import { nanosOf, validSpanId, validTraceId } from "./record-of-entry.ts";
import { severityNumberOf, severityTextOf, validSeverityNumber } from "./severity.ts";

const attributes = z.record(z.string(), z.unknown()).nullish();
const line = z.object({
  timestamp_unix_nano_text: z
    .string()
    .regex(/^\d{1,19}$/)
    .nullish(),
  timestamp_unix_nano: z.number().nonnegative().nullish(),
  observed_timestamp_unix_nano_text: z
    .string()
    .regex(/^\d{1,19}$/)
    .nullish(),
  severity_number: z.number().nullish(),
  severity_text: z.string().nullish(),
  body: z.string(),
  attributes,
  trace_id: z.string().nullish(),
  span_id: z.string().nullish(),
  resource: attributes,
  service_name: z.string().nullish(),
  instrumentation_scope_name: z.string().nullish(),
  instrumentation_scope_version: z.string().nullish(),
});

/** An entry from a line as the export writes it, or as the published form is. Undefined for what is none. */
export function recordOfLine(text: string, nowMs: number): LogRecord | undefined {
  const parsed = line.safeParse(jsonOrNone(text));
  if (!parsed.success) return undefined;
  const log = parsed.data;
  const severityNumber = validSeverityNumber(log.severity_number ?? severityNumberOf(log.severity_text ?? "") ?? 9);
  const { "service.name": named, ...resource } = (log.resource ?? {}) as Record<string, AttributeValue>;
  const now = nanosOf(nowMs, nowMs);
  const whole = log.timestamp_unix_nano ?? undefined;
  return {
    timeUnixNano:
      log.timestamp_unix_nano_text != null ? BigInt(log.timestamp_unix_nano_text) : whole === undefined || whole > 1.8e19 ? now : BigInt(Math.floor(whole)),
    observedUnixNano: log.observed_timestamp_unix_nano_text != null ? BigInt(log.observed_timestamp_unix_nano_text) : now,
    severityNumber,
    severityText: severityTextOf(severityNumber),
    body: log.body,
    // It came as JSON, so that all in it is what an attribute may be.
    attributes: (log.attributes ?? {}) as Record<string, AttributeValue>,
    traceId: validTraceId(log.trace_id),
    spanId: validSpanId(log.span_id),
    resource: { service: log.service_name ?? (typeof named === "string" ? named : "unknown"), workerId: undefined, attributes: resource },
    scopeName: log.instrumentation_scope_name ?? undefined,
    scopeVersion: log.instrumentation_scope_version ?? undefined,
  };
}

/** Entries of a line of OTLP/JSON, which is one request, and how many of it were refused; the whole line counts as one when it is no request. */
export function recordsOfOtlp(
  text: string,
  options: { readonly nowMs: number; readonly drops: DropCounter },
): { readonly records: LogRecord[]; readonly refused: number } {
  const records: LogRecord[] = [];
  const ignore = { add: () => {}, started: () => {}, ended: () => {} };
  const body = jsonOrNone(text);
  if (typeof body !== "object" || body === null || !("resourceLogs" in body)) return { records, refused: 1 };
  let refused = 0;
  const { nowMs, drops } = options;
  // An import is from a file: it is not known to be of any worker.
  const origin = { worker: undefined, isFrame: false, mayBeWorker: () => false };
  const context = { origin, spans: ignore, logs: { add: (log: LogRecord) => void records.push(log) }, metrics: ignore, drops, nowNanos: nanosOf(nowMs, nowMs) };
  for (const isTaken of decodeLogs(body, context)) if (!isTaken) refused += 1;
  return { records, refused };
}

function jsonOrNone(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
