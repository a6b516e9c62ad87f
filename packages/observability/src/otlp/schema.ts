/**
 * Protobuf field types of OTLP. `hex` is a bytes field that OTLP/JSON writes in hex. OTLP/JSON writes 64-bit integers
 * as decimal strings.
 */
export type ScalarKind =
  | "string"
  | "hex"
  | "bytes"
  | "bool"
  | "double"
  | "fixed64"
  | "sfixed64"
  | "int64"
  | "uint64"
  | "uint32"
  | "fixed32"
  | "sint32"
  | "enum";

export interface FieldSchema {
  /** Name of the field in OTLP/JSON. */
  readonly name: string;
  readonly kind: ScalarKind | MessageSchema | (() => MessageSchema);
  readonly repeated?: boolean;
}

/** Fields of a message by their number. */
export type MessageSchema = ReadonlyMap<number, FieldSchema>;

type Row = readonly [number: number, name: string, kind: FieldSchema["kind"], repeated?: "repeated"];

function message(...rows: readonly Row[]): MessageSchema {
  return new Map(
    rows.map(([number, name, kind, repeated]) => [number, { name, kind, repeated: repeated !== undefined }]),
  );
}

// Field numbers of opentelemetry-proto 1.x, which are stable (https://github.com/open-telemetry/opentelemetry-proto).
const anyValue: MessageSchema = message(
  [1, "stringValue", "string"],
  [2, "boolValue", "bool"],
  [3, "intValue", "int64"],
  [4, "doubleValue", "double"],
  [5, "arrayValue", () => arrayValue],
  [6, "kvlistValue", () => kvlistValue],
  [7, "bytesValue", "bytes"],
);
const arrayValue = message([1, "values", anyValue, "repeated"]);
const keyValue = message([1, "key", "string"], [2, "value", anyValue]);
const kvlistValue = message([1, "values", keyValue, "repeated"]);
const attributes = (number: number): Row => [number, "attributes", keyValue, "repeated"];
const resource = message(attributes(1));
const scope = message([1, "name", "string"], [2, "version", "string"], attributes(3));

const event = message([1, "timeUnixNano", "fixed64"], [2, "name", "string"], attributes(3));
const link = message([1, "traceId", "hex"], [2, "spanId", "hex"], [3, "traceState", "string"], attributes(4), [
  6,
  "flags",
  "fixed32",
]);
const status = message([2, "message", "string"], [3, "code", "enum"]);
const span = message(
  [1, "traceId", "hex"],
  [2, "spanId", "hex"],
  [3, "traceState", "string"],
  [4, "parentSpanId", "hex"],
  [5, "name", "string"],
  [6, "kind", "enum"],
  [7, "startTimeUnixNano", "fixed64"],
  [8, "endTimeUnixNano", "fixed64"],
  attributes(9),
  [11, "events", event, "repeated"],
  [13, "links", link, "repeated"],
  [15, "status", status],
  [16, "flags", "fixed32"],
);
const scopeSpans = message([1, "scope", scope], [2, "spans", span, "repeated"]);
const resourceSpans = message([1, "resource", resource], [2, "scopeSpans", scopeSpans, "repeated"]);

const logRecord = message(
  [1, "timeUnixNano", "fixed64"],
  [2, "severityNumber", "enum"],
  [3, "severityText", "string"],
  [5, "body", anyValue],
  attributes(6),
  [8, "flags", "fixed32"],
  [9, "traceId", "hex"],
  [10, "spanId", "hex"],
  [11, "observedTimeUnixNano", "fixed64"],
  [12, "eventName", "string"],
);
const scopeLogs = message([1, "scope", scope], [2, "logRecords", logRecord, "repeated"]);
const resourceLogs = message([1, "resource", resource], [2, "scopeLogs", scopeLogs, "repeated"]);

const numberPoint = message(
  attributes(7),
  [2, "startTimeUnixNano", "fixed64"],
  [3, "timeUnixNano", "fixed64"],
  [4, "asDouble", "double"],
  [6, "asInt", "sfixed64"],
  [8, "flags", "uint32"],
);
const histogramPoint = message(
  attributes(9),
  [2, "startTimeUnixNano", "fixed64"],
  [3, "timeUnixNano", "fixed64"],
  [4, "count", "fixed64"],
  [5, "sum", "double"],
  [6, "bucketCounts", "fixed64", "repeated"],
  [7, "explicitBounds", "double", "repeated"],
  [10, "flags", "uint32"],
  [11, "min", "double"],
  [12, "max", "double"],
);
const buckets = message([1, "offset", "sint32"], [2, "bucketCounts", "uint64", "repeated"]);
const exponentialPoint = message(
  attributes(1),
  [2, "startTimeUnixNano", "fixed64"],
  [3, "timeUnixNano", "fixed64"],
  [4, "count", "fixed64"],
  [5, "sum", "double"],
  [6, "scale", "sint32"],
  [7, "zeroCount", "fixed64"],
  [8, "positive", buckets],
  [9, "negative", buckets],
  [10, "flags", "uint32"],
  [12, "min", "double"],
  [13, "max", "double"],
  [14, "zeroThreshold", "double"],
);
const gauge = message([1, "dataPoints", numberPoint, "repeated"]);
const sum = message(
  [1, "dataPoints", numberPoint, "repeated"],
  [2, "aggregationTemporality", "enum"],
  [3, "isMonotonic", "bool"],
);
const histogram = message([1, "dataPoints", histogramPoint, "repeated"], [2, "aggregationTemporality", "enum"]);
const exponentialHistogram = message(
  [1, "dataPoints", exponentialPoint, "repeated"],
  [2, "aggregationTemporality", "enum"],
);
const metric = message(
  [1, "name", "string"],
  [2, "description", "string"],
  [3, "unit", "string"],
  [5, "gauge", gauge],
  [7, "sum", sum],
  [9, "histogram", histogram],
  [10, "exponentialHistogram", exponentialHistogram],
  // The deprecated summary is only recognized, not decoded, so its message has no fields.
  [11, "summary", message()],
);
const scopeMetrics = message([1, "scope", scope], [2, "metrics", metric, "repeated"]);
const resourceMetrics = message([1, "resource", resource], [2, "scopeMetrics", scopeMetrics, "repeated"]);

export const REQUESTS = {
  traces: message([1, "resourceSpans", resourceSpans, "repeated"]),
  logs: message([1, "resourceLogs", resourceLogs, "repeated"]),
  metrics: message([1, "resourceMetrics", resourceMetrics, "repeated"]),
} as const;

const partialSuccess = (rejected: string): MessageSchema =>
  message([1, "partialSuccess", message([1, rejected, "int64"], [2, "errorMessage", "string"])]);

/** Name of the response member with the number of rejected records, by signal. */
export const REJECTED = { traces: "rejectedSpans", logs: "rejectedLogRecords", metrics: "rejectedDataPoints" } as const;

export const RESPONSES = {
  traces: partialSuccess(REJECTED.traces),
  logs: partialSuccess(REJECTED.logs),
  metrics: partialSuccess(REJECTED.metrics),
} as const;

/** `google.rpc.Status`: the response to a rejected request. */
export const RPC_STATUS = message([1, "code", "enum"], [2, "message", "string"]);
