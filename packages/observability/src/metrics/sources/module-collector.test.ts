import { every, type Measurement } from "@svc-runtime/engine/module";
import { manualClock } from "@svc-runtime/engine/testing";
import { expect, test } from "vitest";
import { DropCounts } from "../../drop-counts.ts";
import { metricReader } from "../reader.ts";
import { SeriesStore } from "../series-store.ts";
import { TimeLine } from "../time-line.ts";
import { ModuleCollector } from "./module-collector.ts";

const HOUR_MS = 3_600_000;
const COUNTER = { name: "meter.total", type: "counter" } as const;

/** A module that is sampled every hour, followed by the sweep. */
function scene(told: () => Iterable<Measurement>) {
  const clock = manualClock();
  const drops = new DropCounts();
  const store = new SeriesStore({
    timeLine: new TimeLine(clock),
    limits: () => ({ maxSeries: 100, retentionMs: HOUR_MS }),
    drops,
  });
  const figures = new ModuleCollector({ telemetry: { measures: [told] }, store, clock, drops });
  every(clock, HOUR_MS, () => {
    figures.sample(store.timeLine.now());
    store.sweep();
  });
  const reader = metricReader({ store });
  return { clock, store, grown: () => reader.value(COUNTER.name, {}, 60, false) };
}

test("a counter that is sent but does not grow for weeks is no new one when it grows again", () => {
  let value = 1_000;
  const { clock, store, grown } = scene(() => [{ ...COUNTER, value }]);
  clock.advance(HOUR_MS);
  const [series] = store.of(COUNTER.name);
  clock.advance(15 * 24 * HOUR_MS);
  expect(grown()).toBe(0);
  value = 1_001;
  clock.advance(HOUR_MS);
  expect(grown()).toBe(1);
  expect([...store.of(COUNTER.name)]).toEqual([series]);
});

test("a counter that is not sent for weeks continues from its total", () => {
  let told: readonly Measurement[] = [{ ...COUNTER, value: 1_000 }];
  const { clock, store, grown } = scene(() => told);
  clock.advance(HOUR_MS);
  told = [];
  clock.advance(8 * 24 * HOUR_MS);
  expect(store.size).toBe(0);
  told = [{ ...COUNTER, value: 1_002 }];
  clock.advance(HOUR_MS);
  expect(grown()).toBe(2);
});
