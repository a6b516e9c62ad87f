import { describe, expect, it } from "vitest";
import { ManualClock } from "../manual-clock.test.support.ts";
import { nodeProcessStats } from "./node-process-stats.ts";
import { WorkerGauges } from "./worker-gauges.ts";

function made() {
  const clock = new ManualClock();
  const stats = { cpu: 500 };
  const sent: (readonly Readonly<Record<string, unknown>>[])[] = [];
  const gauges = new WorkerGauges({
    clock,
    stats: {
      cpuMs: () => stats.cpu,
      rssBytes: () => 1000,
      heapUsedBytes: () => 10,
      uptimeSeconds: () => clock.monotonicMs() / 1000,
    },
    send: (metrics) => sent.push(metrics.map((text) => JSON.parse(text) as Readonly<Record<string, unknown>>)),
  });
  return { clock, stats, sent, gauges };
}

const values = (metrics: readonly Readonly<Record<string, unknown>>[] = []) =>
  Object.fromEntries(
    metrics.map(({ name, gauge }) => [name, (gauge as { dataPoints: [{ asDouble: number }] }).dataPoints[0].asDouble]),
  );

describe("the gauges of a worker", () => {
  it("are sent one second after it connected and every 10 seconds from then on", () => {
    const { clock, stats, sent, gauges } = made();
    gauges.start("w1", "math-worker");
    clock.advance(999);
    expect(sent).toEqual([]);
    stats.cpu += 250;
    clock.advance(1);
    expect(values(sent[0])).toEqual({
      "svc.worker.cpu_percent": 25,
      "svc.worker.rss_bytes": 1000,
      "svc.worker.heap_used_bytes": 10,
      "svc.worker.event_loop_lag_ms": 0,
      "svc.worker.uptime_seconds": 1,
    });
    clock.advance(9999);
    expect(sent).toHaveLength(1);
    clock.advance(1);
    expect(sent).toHaveLength(2);
    expect(values(sent[1])["svc.worker.cpu_percent"]).toBe(0);
  });

  it("name the worker and its connection", () => {
    const { clock, sent, gauges } = made();
    gauges.start("w1", "math-worker");
    clock.advance(1000);
    expect(sent[0]?.[0]).toMatchObject({
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
    const { clock, sent, gauges } = made();
    gauges.start("w1", "math-worker");
    gauges.stop();
    clock.advance(60_000);
    expect(sent).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  it("are those of this process", () => {
    expect(nodeProcessStats.cpuMs()).toBeGreaterThan(0);
    expect(nodeProcessStats.rssBytes()).toBeGreaterThan(nodeProcessStats.heapUsedBytes() / 4);
    expect(nodeProcessStats.uptimeSeconds()).toBeGreaterThan(0);
  });
});
