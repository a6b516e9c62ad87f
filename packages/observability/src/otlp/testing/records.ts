import type { LogRecord, MetricRecord, Resource, SpanRecord } from "../../telemetry-records.ts";

export const SOME_RESOURCE: Resource = {
  service: "math-worker",
  workerId: "w-1",
  attributes: { "telemetry.sdk.name": "svc" },
};

/** Returns a span like those of the recorder, with overrides. */
export function someSpan(wanted: Partial<SpanRecord> = {}): SpanRecord {
  return {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    parentSpanId: undefined,
    name: "math::add",
    kind: "server",
    startUnixNano: 1_790_000_000_123_456_789n,
    endUnixNano: 1_790_000_000_223_456_789n,
    status: "ok",
    statusDescription: undefined,
    attributes: {},
    events: [],
    links: [],
    baggage: {},
    resource: SOME_RESOURCE,
    scopeName: undefined,
    scopeVersion: undefined,
    internal: false,
    sampled: true,
    size: 300,
    ...wanted,
  };
}

export function someLog(wanted: Partial<LogRecord> = {}): LogRecord {
  return {
    timeUnixNano: 1_790_000_000_123_456_789n,
    observedUnixNano: 1_790_000_000_123_456_790n,
    severityNumber: 9,
    severityText: "INFO",
    body: "added",
    attributes: {},
    traceId: undefined,
    spanId: undefined,
    resource: SOME_RESOURCE,
    scopeName: undefined,
    scopeVersion: undefined,
    ...wanted,
  };
}

export function someMetric(wanted: Partial<MetricRecord> = {}): MetricRecord {
  return {
    name: "svc.calls",
    description: "Calls",
    unit: "{call}",
    type: "counter",
    temporality: "cumulative",
    points: [
      {
        attributes: { function_id: "math::add" },
        timeUnixNano: 1_790_000_000_000_000_000n,
        startUnixNano: 1_780_000_000_000_000_000n,
        value: { type: "number", value: 3 },
      },
    ],
    resource: SOME_RESOURCE,
    scopeName: undefined,
    ...wanted,
  };
}
