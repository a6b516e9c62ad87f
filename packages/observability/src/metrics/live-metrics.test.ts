import type { SystemStreamSpec } from "@svc-runtime/engine/module";
import { manualClock } from "@svc-runtime/engine/testing";
import { expect, test } from "vitest";
import { DropCounts } from "../drop-counts.ts";
import { CALLS, ENGINE_RSS } from "./builtin-metrics.ts";
import { LiveMetrics } from "./live-metrics.ts";
import type { Series } from "./series.ts";
import { SeriesStore } from "./series-store.ts";
import { STEP_MS, TimeLine } from "./time-line.ts";

interface Sample {
  readonly at_ms: number;
  readonly calls_per_second: number;
  readonly errors_per_second: number;
}

/** Counts how often series are read. */
class ReadCounter extends SeriesStore {
  reads = 0;

  override of(name: string): Iterable<Series> {
    this.reads++;
    return super.of(name);
  }
}

function scene() {
  const clock = manualClock();
  const drops = new DropCounts();
  const store = new ReadCounter({
    timeLine: new TimeLine(clock),
    limits: () => ({ maxSeries: 100, retentionMs: 3_600_000 }),
    drops,
  });
  const published: string[] = [];
  let spec: SystemStreamSpec | undefined;
  const live = new LiveMetrics(store, {
    provideSystemStream(given) {
      spec = given;
      return {
        subscribers: 1,
        publish: ({ json }) => void published.push(json),
        onDemand: () => () => {},
        stop: () => {},
      };
    },
  });
  /** Takes this many samples, each with one call more than the previous one. */
  const sample = (count: number): void => {
    for (let index = 1; index <= count; index++) {
      const at = store.timeLine.now();
      store.number(ENGINE_RSS, {})?.set(at, 1_000);
      store.number(CALLS, { function_id: "f", outcome: "ok" })?.increase(at, index);
      store.number(CALLS, { function_id: "f", outcome: "error" })?.increase(at, 1);
      clock.advance(STEP_MS);
      live.sampled(at);
    }
  };
  const joined = (id?: string): unknown => JSON.parse(String(spec?.snapshot(id, undefined)));
  return {
    clock,
    store,
    published,
    sample,
    joined: joined as (id?: string) => Sample[],
    one: joined as (id: string) => Sample | null,
  };
}

test("a new subscriber receives the samples of 15 minutes without a read of any series", () => {
  const { store, sample, joined, published } = scene();
  sample(200);
  store.reads = 0;
  const samples = joined();
  expect(store.reads).toBe(0);
  expect(samples).toHaveLength(180);
  expect(samples.map(({ calls_per_second }) => Math.round(calls_per_second * 5))).toEqual(
    Array.from({ length: 180 }, (_, index) => index + 22),
  );
  expect(samples.every(({ errors_per_second }) => errors_per_second === 0.2)).toBe(true);
  expect(published.map((json) => (JSON.parse(json) as { readonly data: Sample }).data).slice(-180)).toEqual(samples);
});

test("samples older than 15 minutes are not sent, and one is found by its time", () => {
  const { clock, sample, joined, one } = scene();
  sample(180);
  clock.advance(100 * STEP_MS);
  expect(joined()).toHaveLength(80);
  const last = joined().at(-1);
  expect(one(String(last?.at_ms))).toEqual(last);
  expect(one("1")).toBeNull();
});
