import { manualClock } from "@svc-runtime/engine/testing";
import { describe, expect, it } from "vitest";
import { DropCounts } from "../drop-counts.ts";
import type { MetricPoint, MetricRecord } from "../telemetry-records.ts";
import { CALLS } from "./builtin-metrics.ts";
import { ExternalMetrics } from "./external-metrics.ts";
import { metricReader } from "./reader.ts";
import { NumberSeries, type Series } from "./series.ts";
import { SeriesStore } from "./series-store.ts";
import { snapshotOf } from "./snapshot.ts";
import { TimeLine } from "./time-line.ts";

const OWN = { service: "svc", workerId: undefined, attributes: {} };

function scene(limits = { maxSeries: 100, retentionMs: 3_600_000 }) {
  const clock = manualClock();
  const drops = new DropCounts();
  const store = new SeriesStore({ timeLine: new TimeLine(clock), limits: () => limits, drops });
  const told: unknown[] = [];
  const workers = {
    receive(name: string, value: number, workerId: string): boolean {
      if (!name.startsWith("svc.worker.")) return false;
      told.push({ name, value, workerId });
      return true;
    },
  };
  const sink = new ExternalMetrics({ store, workers, drops });
  const add = (
    type: MetricRecord["type"],
    values: readonly (readonly [MetricPoint["value"] | number, MetricPoint["attributes"]?])[],
    more: Partial<MetricRecord> = {},
  ): void =>
    sink.add({
      name: "orders",
      description: "",
      unit: "1",
      type,
      temporality: "cumulative",
      resource: { service: "shop", workerId: "w1", attributes: {} },
      scopeName: undefined,
      points: values.map(([value, attributes = {}]) => ({
        attributes,
        timeUnixNano: 0n,
        startUnixNano: undefined,
        value: typeof value === "number" ? { type: "number", value } : value,
      })),
      ...more,
    });
  const only = (name = "orders"): Series => {
    const all = [...store.of(name)];
    expect(all).toHaveLength(1);
    return all[0] as Series;
  };
  return { clock, drops, store, told, add, only, reader: metricReader({ store }) };
}

describe("metrics from outside", () => {
  it("keep series of different attributes apart (gap 47)", () => {
    const { add, reader } = scene();
    add("counter", [
      [3, { country: "fr" }],
      [5, { country: "de" }],
    ]);
    expect(reader.value("orders", { country: "fr" }, 60, false)).toBe(3);
    expect(reader.value("orders", { country: "de" }, 60, false)).toBe(5);
    expect(reader.value("orders", {}, 60, false)).toBe(8);
    expect(reader.value("orders", { country: "es" }, 60, false)).toBeNull();
  });

  it("count as their increase, cumulative or delta, also when the sender starts again", () => {
    const { add, only } = scene();
    for (const value of [10, 15, 15, 4]) add("counter", [[value]]);
    expect((only() as NumberSeries).latest).toBe(19);
    for (const value of [2, 3]) add("counter", [[value]], { name: "delta", temporality: "delta" });
    expect((only("delta") as NumberSeries).latest).toBe(5);
  });

  it("that come back after they were forgotten for their silence go on from where they stood (gap 47)", () => {
    const { clock, store, add, only, reader } = scene();
    const histogram = (bucketCounts: readonly number[], bounds: readonly number[] = [10]): MetricPoint["value"] => ({
      type: "histogram",
      count: 0,
      sum: 30,
      min: undefined,
      max: undefined,
      bucketCounts,
      bounds,
    });
    add("counter", [[1_000_000]]);
    add("counter", [[500]], { name: "again" });
    add("histogram", [[histogram([700, 300])]], { name: "times" });
    clock.advance(7 * 24 * 3_600_000);
    store.sweep();
    expect(store.size).toBe(0);
    add("counter", [[1_000_003]]);
    // The sender restarted meanwhile.
    add("counter", [[7]], { name: "again" });
    add("histogram", [[histogram([700, 302])]], { name: "times" });
    expect([
      reader.value("orders", {}, 60, false),
      reader.value("again", {}, 60, false),
      reader.value("times", {}, 60, false),
    ]).toEqual([3, 7, 2]);
    expect((only() as NumberSeries).latest).toBe(3);
    clock.advance(7 * 24 * 3_600_000);
    store.sweep();
    // Different bucket bounds cannot be compared.
    add("histogram", [[histogram([1, 2, 1], [5, 10])]], { name: "times" });
    expect(reader.value("times", {}, 60, false)).toBe(4);
  });

  it("whose sender says that it started again count in full, whatever they stood at before", () => {
    const { clock, store, add, only, reader } = scene();
    const start = (day: number): bigint => BigInt(Date.UTC(2030, 0, day)) * 1_000_000n;
    const told = (value: MetricPoint["value"], day: number, afterNanos = 60_000_000_000n): Partial<MetricRecord> => ({
      points: [{ attributes: {}, timeUnixNano: start(day) + afterNanos, startUnixNano: start(day), value }],
    });
    const histogram = (count: number): MetricPoint["value"] => ({
      type: "histogram",
      count,
      sum: count,
      min: undefined,
      max: undefined,
      bucketCounts: [count],
      bounds: [],
    });
    const increases: unknown[] = [];
    // A nightly job without a worker; its series is evicted and its total restored in between.
    for (const [day, value] of [500, 501, 502, 503].entries()) {
      add("counter", [], told({ type: "number", value }, day + 1));
      add("histogram", [], { ...told(histogram(value), day + 1), name: "times" });
      increases.push([reader.value("orders", {}, 60, false), reader.value("times", {}, 60, false)]);
      clock.advance(24 * 3_600_000);
      store.sweep();
      expect(store.size).toBe(0);
    }
    expect(increases).toEqual([500, 501, 502, 503].map((value) => [value, value]));
    // The same start continues the total, even after an eviction, and so does an unknown start.
    add("counter", [], told({ type: "number", value: 510 }, 4));
    add("histogram", [], { ...told(histogram(510), 4), name: "times" });
    add("counter", [[512]]);
    expect([reader.value("orders", {}, 60, false), reader.value("times", {}, 60, false)]).toEqual([9, 7]);
    // Also without a pause.
    add("counter", [], told({ type: "number", value: 600 }, 5));
    add("histogram", [], { ...told(histogram(600), 5), name: "times" });
    expect([reader.value("orders", {}, 60, false), reader.value("times", {}, 60, false)]).toEqual([609, 607]);
    // An earlier start belongs to another sender; alternating points are compared by value, as without a start.
    add("counter", [], told({ type: "number", value: 601 }, 4));
    add("counter", [], told({ type: "number", value: 602 }, 5));
    expect((only() as NumberSeries).latest).toBe(611);
    // Some senders set the start of every point to the time of sending; it is ignored.
    add("counter", [], { ...told({ type: "number", value: 10 }, 1, 0n), name: "careless" });
    add("counter", [], { ...told({ type: "number", value: 11 }, 2, 0n), name: "careless" });
    expect((only("careless") as NumberSeries).latest).toBe(11);
  });

  it("remember only so much of what was forgotten", () => {
    const { clock, store, add, reader } = scene({ maxSeries: 40_000, retentionMs: 3_600_000 });
    for (let round = 0; round < 20_000; round++) add("counter", [[100, { round: String(round) }]]);
    clock.advance(7 * 24 * 3_600_000);
    store.sweep();
    add("counter", [
      [101, { round: "0" }],
      [101, { round: "19999" }],
    ]);
    expect([
      reader.value("orders", { round: "0" }, 60, false),
      reader.value("orders", { round: "19999" }, 60, false),
    ]).toEqual([101, 1]);
  });

  it("of a gauge are the latest value, and their mean in a window", () => {
    const { clock, add, only, reader } = scene();
    add("gauge", [[10]]);
    clock.advance(5_000);
    add("gauge", [[20]]);
    expect((only() as NumberSeries).latest).toBe(20);
    expect(reader.value("orders", {}, 60, false)).toBe(15);
    clock.advance(120_000);
    expect(reader.value("orders", {}, 60, false)).toBeNull();
    // Null without a crash: there is no metric of this name.
    expect(reader.value("nothing", {}, 60, true)).toBeNull();
  });

  it("of histograms are merged by their buckets (gap 47)", () => {
    const { add, store } = scene();
    const histogram = (bucketCounts: readonly number[]): MetricPoint["value"] => ({
      type: "histogram",
      count: 0,
      sum: 30,
      min: undefined,
      max: undefined,
      bucketCounts,
      bounds: [10, 100],
    });
    add("histogram", [[histogram([1, 2, 0])]]);
    add("histogram", [[histogram([3, 2, 1])]]);
    add("histogram", [[histogram([1, 1, 1])]], { name: "delta", temporality: "delta" });
    add("histogram", [[histogram([1, 1, 1])]], { name: "delta", temporality: "delta" });
    const values = snapshotOf(store, OWN).map(({ name, points }) => [name, points[0]?.value]);
    expect(values).toMatchObject([
      ["delta", { count: 6, bucketCounts: [2, 2, 2], bounds: [10, 100] }],
      ["orders", { count: 6, bucketCounts: [3, 2, 1] }],
    ]);
  });

  it("that make no sense are dropped and counted, each by itself", () => {
    const { add, drops, store } = scene();
    const bad = { type: "histogram" as const, count: 1, sum: 1, min: undefined, max: undefined };
    add("counter", [[Number.NaN], [Number.POSITIVE_INFINITY], [1]]);
    add(
      "histogram",
      [
        [{ ...bad, bucketCounts: [1], bounds: [1, 2] }],
        [{ ...bad, bucketCounts: [1, 1, 1], bounds: [2, 1] }],
        [{ ...bad, bucketCounts: [-1, 1], bounds: [1] }],
      ],
      {
        name: "h",
      },
    );
    add("gauge", [[1]], { name: "svc.calls" });
    add("gauge", [[1]], { name: "x".repeat(300) });
    add("gauge", [[1]]);
    expect(store.size).toBe(1);
    expect(drops.entries()).toEqual([
      { signal: "metrics", reason: "not_finite", count: 2 },
      { signal: "metrics", reason: "bad_point", count: 3 },
      { signal: "metrics", reason: "bad_name", count: 2 },
      { signal: "metrics", reason: "type_conflict", count: 1 },
    ]);
  });

  it("with ever new attributes fill no more than the cap, and those that are there go on", () => {
    const { add, drops, store, reader } = scene();
    for (let index = 0; index < 10_000; index++) add("counter", [[1, { user: String(index) }]]);
    expect(store.size).toBe(75);
    expect(drops.entries()).toEqual([{ signal: "metrics", reason: "series_limit", count: 9_925 }]);
    add("counter", [[4, { user: "7" }]]);
    expect(reader.value("orders", { user: "7" }, 60, false)).toBe(4);
  });

  it("with ever new attributes leave room for the engine's own, which alerts watch", () => {
    const { add, store } = scene();
    for (let index = 0; index < 1_000; index++) add("counter", [[1, { user: String(index) }]]);
    for (let index = 0; index < 25; index++)
      expect(store.number(CALLS, { function_id: `f::${index}`, outcome: "error" })).toBeDefined();
    expect(store.number(CALLS, { function_id: "f::more", outcome: "error" })).toBeUndefined();
  });

  it("with attributes too many or too long are dropped whole", () => {
    const { add, drops, store } = scene();
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`key${index}`, "v"]));
    add("gauge", [
      [1, many],
      [1, { long: "x".repeat(10_000) }],
      [1, { nested: { a: 1 } }],
    ]);
    expect(store.size).toBe(0);
    expect(drops.entries()).toEqual([{ signal: "metrics", reason: "bad_attributes", count: 3 }]);
  });

  it("named as what every object has are names like others", () => {
    const { add, reader } = scene();
    add("counter", [[1, { ["__proto__"]: "x", constructor: "y" }]], { name: "constructor" });
    expect(reader.value("constructor", { constructor: "y" }, 60, false)).toBe(1);
    expect(reader.value("constructor", { toString: "y" }, 60, false)).toBeNull();
    expect(reader.value("__proto__", {}, 60, false)).toBeNull();
  });

  it("that stay away are forgotten after the retention, and make room", () => {
    const { clock, add, store } = scene();
    add("counter", [[1]]);
    clock.advance(3_500_000);
    store.sweep();
    expect(store.size).toBe(1);
    clock.advance(200_000);
    store.sweep();
    expect(store.size).toBe(0);
  });

  it("of a worker's process belong to the worker; no other sender can set them", () => {
    const { add, told, store } = scene();
    add(
      "gauge",
      [
        [50, { "worker.id": "w1" }],
        [60, { "worker.id": "w2" }],
      ],
      { name: "svc.worker.cpu_percent" },
    );
    add("gauge", [[70, { "worker.id": "w2" }]], {
      name: "svc.worker.cpu_percent",
      resource: { service: "x", workerId: undefined, attributes: {} },
    });
    expect(told).toEqual([{ name: "svc.worker.cpu_percent", value: 50, workerId: "w1" }]);
    expect([...store.of("svc.worker.cpu_percent")].map(({ labels }) => labels["worker.id"])).toEqual(["w2", "w2"]);
  });

  it("of a worker's process come from a restricted sender only for its own worker", () => {
    const { add, told, store, drops } = scene();
    const resource = { service: "guest (role reader)", workerId: "w1", attributes: {}, restrictedTo: "role reader" };
    const name = "svc.worker.cpu_percent";
    add("gauge", [[50], [60, { "worker.id": "w2", worker: "bank" }]], { name, resource });
    add("gauge", [[70, { worker: "bank" }]], { name, resource: { ...resource, workerId: undefined } });
    expect(told).toEqual([{ name, value: 50, workerId: "w1" }]);
    expect([...store.of(name)]).toEqual([]);
    expect(drops.entries()).toEqual([{ signal: "metrics", reason: "bad_name", count: 2 }]);
  });

  it("whose buckets change start again", () => {
    const { add, only } = scene();
    const histogram = (bounds: readonly number[]): MetricPoint["value"] => ({
      type: "histogram",
      count: 1,
      sum: 1,
      min: undefined,
      max: undefined,
      bucketCounts: bounds.map(() => 1).concat(1),
      bounds,
    });
    add("histogram", [[histogram([1, 2])]]);
    add("histogram", [[histogram([1, 2, 3])]]);
    const series = only();
    expect(series).not.toBeInstanceOf(NumberSeries);
    expect(series).toMatchObject({ total: { count: 4 } });
  });
});
