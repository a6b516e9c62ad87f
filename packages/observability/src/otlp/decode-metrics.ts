import type { MetricPoint, MetricRecord } from "../telemetry-records.ts";
import { type DecodeContext, readOwnAttributes, readResource, recordsOf } from "./decode-context.ts";
import { explicitHistogram } from "./exponential-histogram.ts";
import { MAX_ATTRIBUTES, MAX_BODY_BYTES, MAX_KEY_BYTES, MAX_POINTS, RecordBudget } from "./limits.ts";
import { isForeignLabel, withoutAttributes } from "./reserved-attributes.ts";
import { asDouble, asFinite, asInteger, asList, asObject, asText, type JsonObject, readNanos } from "./values.ts";

const NAMES = { resources: "resourceMetrics", scopes: "scopeMetrics", records: "metrics" } as const;
const MAX_BOUNDS = 512;

type Kind = Pick<MetricRecord, "type" | "temporality"> & {
  readonly points: readonly unknown[];
  readonly readPoint: (json: JsonObject) => MetricPoint["value"] | undefined;
};

/** Decodes metrics. Yields once for each point, because an OTLP response reports the number of points. */
export function* decodeMetrics(body: unknown, context: DecodeContext): Generator<boolean> {
  for (const { resource: json, scope, records } of recordsOf(body, NAMES)) {
    const resource = readResource(json, context, "metrics", workerNamedBy(records));
    for (const record of records) {
      const metric = asObject(record);
      const kind = metric === undefined ? undefined : kindOf(metric);
      const name = asText(metric?.name);
      if (
        metric === undefined ||
        kind === undefined ||
        name === undefined ||
        name === "" ||
        Buffer.byteLength(name) > MAX_KEY_BYTES
      ) {
        context.drops.dropped("metrics", metric?.summary === undefined ? "malformed" : "unsupported_kind", 1);
        yield false;
        continue;
      }
      const points = yield* readPoints(kind, resource.workerId, context);
      if (points.length === 0) continue;
      const budget = new RecordBudget("metrics", context.drops);
      context.metrics.add({
        name,
        description: budget.cut(asText(metric.description) ?? "", MAX_BODY_BYTES),
        unit: budget.cut(asText(metric.unit) ?? "", MAX_KEY_BYTES),
        type: kind.type,
        temporality: kind.temporality,
        points,
        resource,
        scopeName: scope.scopeName,
      });
    }
  }
}

function* readPoints(
  kind: Kind,
  workerId: string | undefined,
  context: DecodeContext,
): Generator<boolean, MetricPoint[]> {
  const points: MetricPoint[] = [];
  for (const item of kind.points.slice(0, MAX_POINTS)) {
    const point = readPoint(asObject(item), kind.readPoint, workerId, context);
    if (typeof point === "string") context.drops.dropped("metrics", point, 1);
    else points.push(point);
    yield typeof point !== "string";
  }
  const left = kind.points.length - MAX_POINTS;
  if (left > 0) context.drops.dropped("metrics", "record_limit_points", left);
  for (let count = 0; count < left; count += 1) yield false;
  return points;
}

/** Returns the worker id from the first point, because published clients put it there instead of on the resource. */
function workerNamedBy(metrics: readonly unknown[]): string | undefined {
  const metric = asObject(metrics[0]);
  const points = asList(asObject(metric?.gauge ?? metric?.sum)?.dataPoints);
  for (const item of asList(asObject(points[0])?.attributes).slice(0, MAX_ATTRIBUTES)) {
    const pair = asObject(item);
    if (pair?.key === "worker.id") return asText(asObject(pair.value)?.stringValue);
  }
  return undefined;
}

function kindOf(metric: JsonObject): Kind | undefined {
  const gauge = asObject(metric.gauge);
  if (gauge !== undefined)
    return { type: "gauge", temporality: undefined, points: asList(gauge.dataPoints), readPoint: readNumber };
  const sum = asObject(metric.sum);
  if (sum !== undefined) {
    const type = sum.isMonotonic === true ? "counter" : "up_down_counter";
    return { type, temporality: temporalityOf(sum), points: asList(sum.dataPoints), readPoint: readNumber };
  }
  const histogram = asObject(metric.histogram);
  if (histogram !== undefined) {
    return {
      type: "histogram",
      temporality: temporalityOf(histogram),
      points: asList(histogram.dataPoints),
      readPoint: readHistogram,
    };
  }
  const exponential = asObject(metric.exponentialHistogram);
  if (exponential === undefined) return undefined;
  return {
    type: "histogram",
    temporality: temporalityOf(exponential),
    points: asList(exponential.dataPoints),
    readPoint: explicitHistogram,
  };
}

function temporalityOf(json: JsonObject): "delta" | "cumulative" {
  const value = json.aggregationTemporality;
  return asInteger(value) === 1 || value === "AGGREGATION_TEMPORALITY_DELTA" ? "delta" : "cumulative";
}

function readPoint(
  json: JsonObject | undefined,
  read: Kind["readPoint"],
  workerId: string | undefined,
  context: DecodeContext,
): MetricPoint | "malformed" | "bad_time" | "bad_value" {
  if (json === undefined) return "malformed";
  const time = readNanos(json.timeUnixNano);
  const start = readNanos(json.startTimeUnixNano);
  if (time === null || start === null) return "bad_time";
  const value = read(json);
  if (value === undefined) return "bad_value";
  const own = readOwnAttributes(json.attributes, new RecordBudget("metrics", context.drops), context.origin);
  const attributes =
    context.origin.restrictedTo === undefined
      ? own
      : withoutAttributes(own, (name, value) => isForeignLabel(name, value, workerId));
  return { attributes, timeUnixNano: time ?? context.nowNanos, startUnixNano: start, value };
}

function readNumber(json: JsonObject): MetricPoint["value"] | undefined {
  const value = asDouble(json.asDouble ?? json.asInt);
  return value === undefined || !Number.isFinite(value) ? undefined : { type: "number", value };
}

function readHistogram(json: JsonObject): MetricPoint["value"] | undefined {
  const bounds = asList(json.explicitBounds).map(asDouble);
  const given = asList(json.bucketCounts).map(asInteger);
  const count = asInteger(json.count);
  if (count === undefined || count < 0 || bounds.length > MAX_BOUNDS) return undefined;
  // Without bounds there is one bucket, and its count may be left out.
  const bucketCounts = given.length === 0 && bounds.length === 0 ? [count] : given;
  if (bucketCounts.length !== bounds.length + 1) return undefined;
  if (!isRising(bounds) || !bucketCounts.every((bucket) => bucket !== undefined && bucket >= 0)) return undefined;
  return {
    type: "histogram",
    count,
    sum: asFinite(json.sum) ?? 0,
    min: asFinite(json.min),
    max: asFinite(json.max),
    bucketCounts: bucketCounts as number[],
    bounds: bounds as number[],
  };
}

function isRising(bounds: readonly (number | undefined)[]): boolean {
  return bounds.every(
    (bound, at) => bound !== undefined && Number.isFinite(bound) && (at === 0 || bound > (bounds[at - 1] as number)),
  );
}
