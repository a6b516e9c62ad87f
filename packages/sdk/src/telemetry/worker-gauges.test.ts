import { describe, expect, it } from "vitest";
import { ManualClock } from "../manual-clock.test.support.ts";
import { nodeFigures } from "./node-figures.ts";
import { WorkerGauges } from "./worker-gauges.ts";

function made() {
  const clock = new ManualClock();
  const figures = { cpu: 500 };
  const handed: (readonly Readonly<Record<string, unknown>>[])[] = [];
  const gauges = new WorkerGauges({
    clock,
    figures: { cpuMs: () => figures.cpu, rssBytes: () => 1000, heapUsedBytes: () => 10, uptimeSeconds: () => clock.monotonicMs() / 1000 },
    hand: (metrics) => handed.push(metrics.map((text) => JSON.parse(text) as Readonly<Record<string, unknown>>)),
  });
  return { clock, figures, handed, gauges };
}

const values = (metrics: readonly Readonly<Record<string, unknown>>[] = []) =>
  Object.fromEntries(metrics.map(({ name, gauge }) => [name, (gauge as { dataPoints: [{ asDouble: number }] }).dataPoints[0].asDouble]));

describe("the gauges of a worker", () => {
  it("are told a second after it connected and every 10 seconds from then on", () => {
    const { clock, figures, handed, gauges } = made();
    gauges.start("w1", "math-worker");
    clock.advance(999);
    expect(handed).toEqual([]);
    figures.cpu += 250;
    clock.advance(1);
    expect(values(handed[0])).toEqual({
      "svc.worker.cpu_percent": 25,
      "svc.worker.rss_bytes": 1000,
      "svc.worker.heap_used_bytes": 10,
      "svc.worker.event_loop_lag_ms": 0,
      "svc.worker.uptime_seconds": 1,
    });
    clock.advance(9999);
    expect(handed).toHaveLength(1);
    clock.advance(1);
    expect(handed).toHaveLength(2);
    expect(values(handed[1])["svc.worker.cpu_percent"]).toBe(0);
  });

  it("name the worker and its connection", () => {
    const { clock, handed, gauges } = made();
    gauges.start("w1", "math-worker");
    clock.advance(1000);
    expect(handed[0]?.[0]).toMatchObject({
      unit: "%",
      gauge: {
        dataPoints: [
          {
            attributes: [
              { key: "worker.id", value: { stringValue: "w1" } },
              { key: "worker.name", value: { stringValue: "math-worker" } },
            ],
          },
        ],
      },
    });
  });

  it("end with the connection", () => {
    const { clock, handed, gauges } = made();
    gauges.start("w1", "math-worker");
    gauges.stop();
    clock.advance(60_000);
    expect(handed).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  it("are those of this process", () => {
    expect(nodeFigures.cpuMs()).toBeGreaterThan(0);
    expect(nodeFigures.rssBytes()).toBeGreaterThan(nodeFigures.heapUsedBytes() / 4);
    expect(nodeFigures.uptimeSeconds()).toBeGreaterThan(0);
  });
});
