import type { Attributes, AttributeValue, SpanKind } from "@svc-runtime/engine/module";
import type { LogRecord, MetricPoint, MetricRecord, Resource, SpanRecord } from "../telemetry-records.ts";
import type {
  AnyValue,
  HistogramPointJson,
  KeyValue,
  LogJson,
  LogsJson,
  MetricJson,
  MetricsJson,
  NumberPointJson,
  SpanJson,
  TracesJson,
} from "./json.ts";

const KINDS: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 };
const STATUS_CODES: Readonly<Record<SpanRecord["status"], number>> = { unset: 0, ok: 1, error: 2 };
const TEMPORALITIES = { delta: 1, cumulative: 2 } as const;

/** Returns the attributes in the form in which they may leave the engine, for example with secrets masked. */
export type ShowAttributes = (attributes: Attributes) => Attributes;

const showAll: ShowAttributes = (attributes) => attributes;

/** Encodes spans as one `ExportTraceServiceRequest`, grouped by resource and scope. */
export function encodeTraces(spans: readonly SpanRecord[], show: ShowAttributes = showAll): TracesJson {
  const resourceSpans = byResourceAndScope(spans).map(({ resource, scopes }) => ({
    resource: encodeResource(resource, show),
    scopeSpans: scopes.map(({ scope, records }) => ({ scope, spans: records.map((span) => encodeSpan(span, show)) })),
  }));
  return { resourceSpans };
}

export function encodeLogs(logs: readonly LogRecord[], show: ShowAttributes = showAll): LogsJson {
  const resourceLogs = byResourceAndScope(logs).map(({ resource, scopes }) => ({
    resource: encodeResource(resource, show),
    scopeLogs: scopes.map(({ scope, records }) => ({ scope, logRecords: records.map((log) => encodeLog(log, show)) })),
  }));
  return { resourceLogs };
}

export function encodeMetrics(metrics: readonly MetricRecord[]): MetricsJson {
  const resourceMetrics = byResourceAndScope(metrics).map(({ resource, scopes }) => ({
    resource: encodeResource(resource, showAll),
    scopeMetrics: scopes.map(({ scope, records }) => ({ scope, metrics: records.map(encodeMetric) })),
  }));
  return { resourceMetrics };
}

function encodeSpan(span: SpanRecord, show: ShowAttributes): SpanJson {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId === undefined ? {} : { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: KINDS[span.kind],
    startTimeUnixNano: String(span.startUnixNano),
    endTimeUnixNano: String(span.endUnixNano ?? 0n),
    attributes: encodeAttributes(show(span.attributes)),
    events: span.events.map(({ timeUnixNano, name, attributes }) => ({
      timeUnixNano: String(timeUnixNano),
      name,
      attributes: encodeAttributes(show(attributes)),
    })),
    links: span.links.map(({ traceId, spanId, attributes }) => ({
      traceId,
      spanId,
      attributes: encodeAttributes(show(attributes)),
    })),
    status: {
      code: STATUS_CODES[span.status],
      ...(span.statusDescription === undefined ? {} : { message: span.statusDescription }),
    },
  };
}

function encodeLog(log: LogRecord, show: ShowAttributes): LogJson {
  return {
    timeUnixNano: String(log.timeUnixNano),
    observedTimeUnixNano: String(log.observedUnixNano),
    severityNumber: log.severityNumber,
    severityText: log.severityText,
    body: { stringValue: log.body },
    attributes: encodeAttributes(show(log.attributes)),
    ...(log.traceId === undefined ? {} : { traceId: log.traceId }),
    ...(log.spanId === undefined ? {} : { spanId: log.spanId }),
  };
}

function encodeMetric({ name, description, unit, type, temporality, points }: MetricRecord): MetricJson {
  const aggregationTemporality = TEMPORALITIES[temporality ?? "cumulative"];
  const named = { name, description, unit };
  if (type === "histogram")
    return { ...named, histogram: { aggregationTemporality, dataPoints: points.flatMap(encodeHistogramPoint) } };
  const dataPoints = points.flatMap(encodeNumberPoint);
  return type === "gauge"
    ? { ...named, gauge: { dataPoints } }
    : { ...named, sum: { dataPoints, aggregationTemporality, isMonotonic: type === "counter" } };
}

function encodeNumberPoint(point: MetricPoint): NumberPointJson[] {
  if (point.value.type !== "number") return [];
  return [{ ...pointFacts(point), asDouble: encodeDouble(point.value.value) }];
}

function encodeHistogramPoint(point: MetricPoint): HistogramPointJson[] {
  if (point.value.type !== "histogram") return [];
  const { count, sum, min, max, bucketCounts, bounds } = point.value;
  return [
    {
      ...pointFacts(point),
      count: String(count),
      sum,
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
      bucketCounts: bucketCounts.map(String),
      explicitBounds: bounds,
    },
  ];
}

function pointFacts({ attributes, startUnixNano, timeUnixNano }: MetricPoint) {
  return {
    attributes: encodeAttributes(attributes),
    ...(startUnixNano === undefined ? {} : { startTimeUnixNano: String(startUnixNano) }),
    timeUnixNano: String(timeUnixNano),
  };
}

/** Encodes a resource. Collectors identify a service by `service.name`, and its processes by `service.instance.id`. */
function encodeResource(
  { service, workerId, attributes }: Resource,
  show: ShowAttributes,
): { readonly attributes: readonly KeyValue[] } {
  const own: KeyValue[] = [{ key: "service.name", value: { stringValue: service } }];
  const add = (key: string, value: string): void => {
    if (!Object.hasOwn(attributes, key)) own.push({ key, value: { stringValue: value } });
  };
  if (workerId !== undefined) {
    add("service.instance.id", workerId);
    add("svc.worker.id", workerId);
  }
  return { attributes: [...own, ...encodeAttributes(show(attributes)).filter(({ key }) => key !== "service.name")] };
}

export function encodeAttributes(attributes: Attributes): KeyValue[] {
  return Object.keys(attributes).map((key) => ({ key, value: encodeValue(attributes[key] as AttributeValue) }));
}

function encodeValue(value: AttributeValue): AnyValue {
  if (value === null) return {};
  switch (typeof value) {
    case "string":
      return { stringValue: value };
    case "boolean":
      return { boolValue: value };
    case "number":
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: encodeDouble(value) };
    default:
      return isArray(value)
        ? { arrayValue: { values: value.map(encodeValue) } }
        : { kvlistValue: { values: encodeAttributes(value) } };
  }
}

function isArray(value: AttributeValue): value is readonly AttributeValue[] {
  return Array.isArray(value);
}

function encodeDouble(value: number): number | "NaN" | "Infinity" | "-Infinity" {
  return Number.isFinite(value) ? value : (String(value) as "NaN" | "Infinity" | "-Infinity");
}

interface WithOrigin {
  readonly resource: Resource;
  readonly scopeName: string | undefined;
  readonly scopeVersion?: string | undefined;
}

interface ResourceGroup<T> {
  readonly resource: Resource;
  readonly scopes: { readonly scope: { readonly name?: string; readonly version?: string }; readonly records: T[] }[];
}

/**
 * Groups records by resource. Equal resources are merged, because records of one worker come from several frames, each
 * with its own resource object.
 */
function byResourceAndScope<T extends WithOrigin>(records: readonly T[]): ResourceGroup<T>[] {
  const found = new Map<string, ResourceGroup<T>>();
  const keys = new Map<Resource, string>();
  for (const record of records) {
    let key = keys.get(record.resource);
    if (key === undefined) {
      const { service, workerId, attributes } = record.resource;
      key = JSON.stringify([service, workerId, attributes]);
      keys.set(record.resource, key);
    }
    let ofResource = found.get(key);
    if (ofResource === undefined) {
      ofResource = { resource: record.resource, scopes: [] };
      found.set(key, ofResource);
    }
    const { scopeName, scopeVersion } = record;
    let ofScope = ofResource.scopes.find(({ scope }) => scope.name === scopeName && scope.version === scopeVersion);
    if (ofScope === undefined) {
      const scope = {
        ...(scopeName === undefined ? {} : { name: scopeName }),
        ...(scopeVersion === undefined ? {} : { version: scopeVersion }),
      };
      ofScope = { scope, records: [] };
      ofResource.scopes.push(ofScope);
    }
    ofScope.records.push(record);
  }
  return [...found.values()];
}
