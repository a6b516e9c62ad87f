import type { AttributeValue } from "@svc-runtime/engine/module";
import { z } from "zod";
import { decodeLogs } from "../otlp/decode-logs.ts";
import type { DropCounter, LogRecord } from "../telemetry-records.ts";
import { parseLine } from "../transfer/line-channel.ts";
import { nanosOf, validSpanId, validTraceId } from "./log-record.ts";
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

/**
 * Parses a line in our export format, or in the format of the specification. Returns undefined if the line is not an
 * entry.
 */
export function recordOfLine(text: string, nowMs: number): LogRecord | undefined {
  const parsed = line.safeParse(parseLine(text));
  if (!parsed.success) return undefined;
  const log = parsed.data;
  const severityNumber = validSeverityNumber(log.severity_number ?? severityNumberOf(log.severity_text ?? "") ?? 9);
  const { "service.name": named, ...resource } = (log.resource ?? {}) as Record<string, AttributeValue>;
  const now = nanosOf(nowMs, nowMs);
  const whole = log.timestamp_unix_nano ?? undefined;
  return {
    timeUnixNano:
      log.timestamp_unix_nano_text != null
        ? BigInt(log.timestamp_unix_nano_text)
        : whole === undefined || whole > 1.8e19
          ? now
          : BigInt(Math.floor(whole)),
    observedUnixNano:
      log.observed_timestamp_unix_nano_text != null ? BigInt(log.observed_timestamp_unix_nano_text) : now,
    severityNumber,
    severityText: severityTextOf(severityNumber),
    body: log.body,
    // The attributes are parsed JSON, so each value is a valid attribute value.
    attributes: (log.attributes ?? {}) as Record<string, AttributeValue>,
    traceId: validTraceId(log.trace_id),
    spanId: validSpanId(log.span_id),
    resource: {
      service: log.service_name ?? (typeof named === "string" ? named : "unknown"),
      workerId: undefined,
      attributes: resource,
    },
    scopeName: log.instrumentation_scope_name ?? undefined,
    scopeVersion: log.instrumentation_scope_version ?? undefined,
  };
}

/**
 * Returns the entries of one OTLP/JSON request, and the number of rejected ones. An invalid line counts as one rejected
 * entry.
 */
export function recordsOfOtlp(
  text: string,
  options: { readonly nowMs: number; readonly drops: DropCounter },
): { readonly records: LogRecord[]; readonly refused: number } {
  const records: LogRecord[] = [];
  const ignore = { add: () => {}, started: () => {}, ended: () => {} };
  const body = parseLine(text);
  if (typeof body !== "object" || body === null || !("resourceLogs" in body)) return { records, refused: 1 };
  let refused = 0;
  const { nowMs, drops } = options;
  // An import comes from a file, so its worker is unknown.
  const origin = { worker: undefined, isFrame: false, mayBeWorker: () => false };
  const context = {
    origin,
    spans: ignore,
    logs: { add: (log: LogRecord) => void records.push(log) },
    metrics: ignore,
    drops,
    nowNanos: nanosOf(nowMs, nowMs),
  };
  for (const isTaken of decodeLogs(body, context)) if (!isTaken) refused += 1;
  return { records, refused };
}
