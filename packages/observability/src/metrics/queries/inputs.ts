import { type CallerAccess, isInfrastructure } from "@svc-runtime/engine/module";
import { z } from "zod";
import { OF_PROCESS } from "../builtin-metrics.ts";
import { type BucketLayout, type HistogramCounts, percentileOf } from "../histogram.ts";
import type { Series } from "../series.ts";

/** A time in milliseconds since 1970. */
const time = z.number().min(0).max(8.64e15).nullish();
const name = z.string().max(256);

export const metricsListInput = () =>
  z.object({
    start_time: time,
    end_time: time,
    metric_name: name.nullish(),
    aggregate_interval: z.number().min(1).max(604_800).nullish().meta({ description: "Seconds" }),
  });
export const seriesInput = () =>
  z.object({
    names: z.array(name).max(100).nullish().meta({ description: "Default: every metric" }),
    labels: z.record(z.string(), z.string()).nullish().meta({ description: "Only series with all of these labels" }),
    start_time: time.meta({ description: "Default: 15 min before the end" }),
    end_time: time.meta({ description: "Default: now" }),
    step_seconds: z.number().int().min(5).max(604_800).default(5),
    aggregate: z
      .enum(["avg", "sum", "max", "rate", "p50", "p95", "p99"])
      .nullish()
      .meta({ description: "Default: the mean of gauges, the rate of counters, p95 of histograms" }),
  });
export const functionsInput = () => z.object({ window_seconds: z.number().int().min(5).max(604_800).default(900) });
export const workersInput = () => z.object({});
export const rollupsInput = () =>
  z.object({
    start_time: time,
    end_time: time,
    level: z.number().int().min(0).max(2).nullish(),
    metric_name: name.nullish(),
  });

/** The members of a series that decide who may see it. */
export type SeenSeries = Pick<Series, "labels"> & Partial<Pick<Series, "origin" | "info">>;

/** Labels whose values are names of an owner's objects, with the function that lists these objects. */
const LISTED_BY: Readonly<Record<string, string>> = { queue: "queue::list", stream: "stream::list_all" };

/** Labels that identify the owner of a metric. */
const OWNER_LABELS = ["function_id", "worker_id", ...Object.keys(LISTED_BY)];

/**
 * Returns whether the caller may see the series. A restricted caller does not see series of: functions that it may not
 * call or that every client may call; workers that it may not see; queues and streams that it may not list; external
 * metrics of other processes; sums over all callers.
 */
export function maySee(
  { labels, origin, info }: SeenSeries,
  access: Pick<CallerAccess, "callRefusal"> | undefined,
  seesWorker: (id: string) => boolean,
): boolean {
  if (access === undefined) return true;
  const { function_id, worker_id } = labels;
  if (function_id !== undefined && (isInfrastructure(function_id) || access.callRefusal(function_id) !== undefined))
    return false;
  if (worker_id !== undefined && !seesWorker(worker_id)) return false;
  if (origin !== undefined && (origin.workerId === undefined || !seesWorker(origin.workerId))) return false;
  if (
    Object.entries(LISTED_BY).some(
      ([label, list]) => Object.hasOwn(labels, label) && access.callRefusal(list) !== undefined,
    )
  )
    return false;
  return (
    origin !== undefined ||
    OWNER_LABELS.some((label) => Object.hasOwn(labels, label)) ||
    (info !== undefined && OF_PROCESS.has(info.name))
  );
}

export function percentilesOf(counts: HistogramCounts, layout: BucketLayout) {
  const at = (percent: number): number | null => percentileOf(counts, layout, percent);
  return { p50: at(50), p75: at(75), p90: at(90), p95: at(95), p99: at(99) };
}

/** Converts milliseconds to nanoseconds as a JSON number, which is rounded above 2^53. */
export function nanosOf(ms: number): number {
  return ms * 1_000_000;
}
