import { createLogger } from "@svc-runtime/engine/module";
import { manualClock } from "@svc-runtime/engine/testing";
import { SecretMask } from "@svc-runtime/protocol";
import { expect, test } from "vitest";
import { MemorySpanStore } from "./memory/memory-span-store.ts";
import { sampleSpan } from "./testing/sample-spans.ts";
import { TraceFeed } from "./trace-feed.ts";

/** Records each report: the milliseconds since the start, and the number of its traces. */
function startFeed() {
  const clock = manualClock();
  const begun = clock.now();
  const mask = new SecretMask([]);
  const store = new MemorySpanStore(
    { maxSpans: 10_000, maxBytes: 1e9, keepSlowMs: 1_000 },
    { drops: { dropped: () => {} }, redactor: () => mask },
  );
  const reports: [ms: number, traces: number][] = [];
  let reported = (): void => {};
  const feed = new TraceFeed({
    reader: () => store,
    clock,
    log: createLogger({ level: "error", now: () => clock.now(), write: ({ message }) => expect.fail(message) }),
    delayMs: 250,
    busyDelayMs: 1_000,
    onChange(rows) {
      reports.push([clock.now() - begun, rows.length]);
      reported();
    },
  });
  feed.setActive(true);
  let next = 1;
  return {
    reports,
    change(traces: number): void {
      for (let count = 0; count < traces; count += 1, next += 1) {
        const span = sampleSpan({ trace: next, id: next });
        store.ended(span);
        feed.changed(span);
      }
    },
    /** Lets the time pass, and awaits the report that is due at its end. */
    async reportAfter(ms: number): Promise<void> {
      const report = new Promise<void>((resolve) => (reported = resolve));
      clock.advance(ms);
      await report;
      // The next report is scheduled when the lookup has ended.
      await new Promise(setImmediate);
    },
    advance: (ms: number): void => clock.advance(ms),
  };
}

test("few changes are reported after 250 ms each time", async () => {
  const feed = startFeed();
  for (let count = 0; count < 3; count += 1) {
    feed.change(10);
    await feed.reportAfter(250);
  }
  expect(feed.reports).toEqual([
    [250, 10],
    [500, 10],
    [750, 10],
  ]);
});

test("after a large report the next one gathers changes for a second, until one is small again", async () => {
  const feed = startFeed();
  feed.change(50);
  await feed.reportAfter(250);
  feed.change(20);
  feed.advance(999);
  feed.change(20);
  await feed.reportAfter(1);
  feed.change(5);
  await feed.reportAfter(1_000);
  feed.change(1);
  await feed.reportAfter(250);
  expect(feed.reports).toEqual([
    [250, 50],
    [1_250, 40],
    [2_250, 5],
    [2_500, 1],
  ]);
});

test("with 500 changes the next report is due 250 ms after the last one", async () => {
  const feed = startFeed();
  feed.change(50);
  await feed.reportAfter(250);
  feed.change(500);
  await feed.reportAfter(250);
  feed.change(499);
  feed.advance(600);
  feed.change(1);
  await feed.reportAfter(0);
  expect(feed.reports).toEqual([
    [250, 50],
    [500, 500],
    [1_100, 500],
  ]);
});
