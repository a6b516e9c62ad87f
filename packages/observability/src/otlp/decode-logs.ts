import type { AttributeValue } from "@svc-runtime/engine/module";
import { severityTextOf } from "../logs/severity.ts";
import type { LogRecord, Resource } from "../telemetry-records.ts";
import { type DecodeContext, readOwnAttributes, readResource, recordsOf, type ScopeNames } from "./decode-context.ts";
import { MAX_BODY_BYTES, RecordBudget } from "./limits.ts";
import {
  asInteger,
  asObject,
  asText,
  isSuspect,
  type JsonObject,
  readId,
  readNanos,
  readValue,
  withMarks,
} from "./values.ts";

const NAMES = { resources: "resourceLogs", scopes: "scopeLogs", records: "logRecords" } as const;
const NUMBERS: ReadonlyMap<string, number> = new Map([
  ["TRACE", 1],
  ["DEBUG", 5],
  ["INFO", 9],
  ["WARN", 13],
  ["WARNING", 13],
  ["ERROR", 17],
  ["FATAL", 21],
  ["CRITICAL", 21],
]);
const INFO = 9;

export function* decodeLogs(body: unknown, context: DecodeContext): Generator<boolean> {
  for (const { resource: json, scope, records } of recordsOf(body, NAMES)) {
    const resource = readResource(json, context, "logs");
    for (const record of records) {
      const log = readLog(asObject(record), resource, scope, context);
      if (typeof log === "string") context.drops.dropped("logs", log, 1);
      else context.logs.add(log);
      yield typeof log !== "string";
    }
  }
}

function readLog(
  json: JsonObject | undefined,
  resource: Resource,
  scope: ScopeNames,
  context: DecodeContext,
): LogRecord | "malformed" | "bad_time" {
  if (json === undefined) return "malformed";
  const time = readNanos(json.timeUnixNano);
  const observed = readNanos(json.observedTimeUnixNano);
  if (time === null || observed === null) return "bad_time";
  const timeUnixNano = time ?? observed ?? context.nowNanos;
  const budget = new RecordBudget("logs", context.drops);
  const body = readBody(json.body, budget);
  const marks: Record<string, AttributeValue> = {};
  if (isSuspect(timeUnixNano, context.nowNanos)) marks["svc.time_suspect"] = true;
  if (body.isCut) marks["svc.truncated"] = true;
  const eventName = asText(json.eventName);
  if (eventName !== undefined && eventName !== "") marks["event.name"] = budget.cut(eventName, MAX_BODY_BYTES);
  const own = readOwnAttributes(json.attributes, budget, context.origin);
  const attributes = Object.keys(marks).length === 0 ? own : withMarks(own, marks);
  const severityNumber = readSeverity(json);
  return {
    timeUnixNano,
    observedUnixNano: observed ?? context.nowNanos,
    severityNumber,
    severityText: severityTextOf(severityNumber),
    body: body.text,
    attributes,
    // An entry with invalid ids is stored without them.
    traceId: readId(json.traceId, 32) ?? undefined,
    spanId: readId(json.spanId, 16) ?? undefined,
    resource,
    ...scope,
  };
}

function readBody(value: unknown, budget: RecordBudget): { readonly text: string; readonly isCut: boolean } {
  const any = asObject(value);
  const own = typeof value === "string" ? value : asText(any?.stringValue);
  const whole = own ?? (value === undefined || value === null ? "" : JSON.stringify(readValue(value, budget)));
  const text = budget.cut(whole, MAX_BODY_BYTES);
  return { text, isCut: text !== whole };
}

function readSeverity(json: JsonObject): number {
  const number = asInteger(json.severityNumber);
  if (number !== undefined && number >= 1 && number <= 24) return number;
  const text = asText(json.severityText);
  return (text === undefined || text.length > 16 ? undefined : NUMBERS.get(text.toUpperCase())) ?? INFO;
}
