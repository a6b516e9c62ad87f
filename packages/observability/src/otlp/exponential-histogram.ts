import type { MetricPoint } from "../telemetry-records.ts";
import { asFinite, asInteger, asList, asObject, type JsonObject } from "./values.ts";

/** Maximum number of buckets. If there are more, neighbours are merged. */
const MAX_BUCKETS = 160;
const MAX_GIVEN = 4_096;

/**
 * Converts a point of an exponential histogram
 * (https://opentelemetry.io/docs/specs/otel/metrics/data-model/#exponentialhistogram) to explicit bounds: bucket i ends
 * at 2^((i+1)/2^scale). Zero and negative values are counted in the first bucket. Returns undefined if the point is
 * invalid.
 */
export function explicitHistogram(json: JsonObject): MetricPoint["value"] | undefined {
  const count = asInteger(json.count);
  let scale = asInteger(json.scale) ?? 0;
  const positive = asObject(json.positive);
  let offset = asInteger(positive?.offset) ?? 0;
  let buckets = asList(positive?.bucketCounts).map(asInteger);
  if (
    count === undefined ||
    count < 0 ||
    Math.abs(scale) > 20 ||
    Math.abs(offset) > 2 ** 31 ||
    buckets.length > MAX_GIVEN
  )
    return undefined;
  if (!buckets.every((bucket) => bucket !== undefined && bucket >= 0)) return undefined;
  while (buckets.length > MAX_BUCKETS) {
    // At a scale lower by one, two neighbouring buckets become one. The first of these may contain only one old bucket.
    const joined: number[] = [];
    for (const [at, bucket] of buckets.entries()) {
      const place = Math.floor((offset + at) / 2) - Math.floor(offset / 2);
      joined[place] = (joined[place] ?? 0) + (bucket as number);
    }
    buckets = joined;
    offset = Math.floor(offset / 2);
    scale -= 1;
  }
  const width = 2 ** -scale;
  const bounds = [2 ** (offset * width), ...buckets.map((_, at) => 2 ** ((offset + at + 1) * width))].map((bound) =>
    Math.min(bound, Number.MAX_VALUE),
  );
  if (!bounds.every((bound, at) => Number.isFinite(bound) && (at === 0 || bound > (bounds[at - 1] as number))))
    return undefined;
  const above = (buckets as number[]).reduce((sum, bucket) => sum + bucket, 0);
  return {
    type: "histogram",
    count,
    sum: asFinite(json.sum) ?? 0,
    min: asFinite(json.min),
    max: asFinite(json.max),
    bucketCounts: [Math.max(0, count - above), ...(buckets as number[]), 0],
    bounds,
  };
}
