import type { LogRecord } from "../../telemetry-records.ts";
import { severityTextOf } from "../severity.ts";

/** 2026-01-01, where the manual clock begins. */
export const START_MS = Date.UTC(2026, 0, 1);

/** Returns a record with defaults. `atMs` is relative to `START_MS`. */
export function logRecord(
  more: Partial<LogRecord> & { readonly atMs?: number; readonly service?: string } = {},
): LogRecord {
  const { atMs = 0, service = "shop", severityNumber = 9, ...rest } = more;
  const timeUnixNano = BigInt(START_MS) * 1_000_000n + BigInt(Math.round(atMs * 1e6));
  return {
    timeUnixNano,
    observedUnixNano: timeUnixNano,
    severityNumber,
    severityText: severityTextOf(severityNumber),
    body: "hello",
    attributes: {},
    traceId: undefined,
    spanId: undefined,
    resource: { service, workerId: undefined, attributes: {} },
    scopeName: undefined,
    scopeVersion: undefined,
    ...rest,
  };
}
