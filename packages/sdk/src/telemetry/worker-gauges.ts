import type { Clock } from "../clock.ts";
import { nanosOf, wallTimeMs } from "./wall-time.ts";

export const FIRST_GAUGES_AFTER_MS = 1000;
export const GAUGES_EVERY_MS = 10_000;
/** Interval at which the event loop's lag is measured, in milliseconds. */
const LAG_SAMPLE_EVERY_MS = 1000;

/** Statistics of the process. */
export interface ProcessStats {
  /** CPU time of the whole process so far, in milliseconds. */
  cpuMs(): number;
  rssBytes(): number;
  heapUsedBytes(): number;
  uptimeSeconds(): number;
}

/** Samples the process regularly, and sends the values as `Metric`s of OTLP/JSON. */
export class WorkerGauges {
  readonly #clock: Clock;
  readonly #stats: ProcessStats;
  readonly #send: (metrics: readonly string[]) => void;
  #attributes = "[]";
  #cpuMs = 0;
  #sinceMs = 0;
  #worstLagMs = 0;
  #dueMs = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(options: {
    readonly clock: Clock;
    readonly stats: ProcessStats;
    readonly send: (metrics: readonly string[]) => void;
  }) {
    this.#clock = options.clock;
    this.#stats = options.stats;
    this.#send = options.send;
  }

  /** Starts sampling. Called when the worker is connected, with its id. */
  start(workerId: string, name: string): void {
    this.stop();
    const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } });
    this.#attributes = JSON.stringify([attribute("worker.id", workerId), attribute("worker.name", name)]);
    this.#cpuMs = this.#stats.cpuMs();
    this.#sinceMs = this.#clock.monotonicMs();
    this.#worstLagMs = 0;
    this.#dueMs = this.#sinceMs + FIRST_GAUGES_AFTER_MS;
    this.#sample();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #sample(): void {
    const expectedMs = this.#clock.monotonicMs() + LAG_SAMPLE_EVERY_MS;
    this.#cancel = this.#clock.after(
      LAG_SAMPLE_EVERY_MS,
      () => {
        const nowMs = this.#clock.monotonicMs();
        this.#worstLagMs = Math.max(this.#worstLagMs, nowMs - expectedMs);
        if (nowMs >= this.#dueMs) this.#report(nowMs);
        this.#sample();
      },
      { background: true },
    );
  }

  #report(nowMs: number): void {
    const cpuMs = this.#stats.cpuMs();
    const percent = (100 * (cpuMs - this.#cpuMs)) / Math.max(1, nowMs - this.#sinceMs);
    const time = nanosOf(wallTimeMs());
    const gauge = (name: string, unit: string, value: number): string =>
      `{"name":"svc.worker.${name}","unit":"${unit}","gauge":{"dataPoints":[{"timeUnixNano":"${time}","attributes":${this.#attributes},"asDouble":${value}}]}}`;
    this.#send([
      gauge("cpu_percent", "%", rounded(percent)),
      gauge("rss_bytes", "By", this.#stats.rssBytes()),
      gauge("heap_used_bytes", "By", this.#stats.heapUsedBytes()),
      gauge("event_loop_lag_ms", "ms", rounded(this.#worstLagMs)),
      gauge("uptime_seconds", "s", rounded(this.#stats.uptimeSeconds())),
    ]);
    this.#cpuMs = cpuMs;
    this.#sinceMs = nowMs;
    this.#worstLagMs = 0;
    this.#dueMs = nowMs + GAUGES_EVERY_MS;
  }
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
