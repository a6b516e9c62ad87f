import type { Clock } from "../clock.ts";
import { nanosOf, wallTimeMs } from "./wall-time.ts";

export const FIRST_GAUGES_AFTER_MS = 1000;
export const GAUGES_EVERY_MS = 10_000;
/** How often it is looked how late the event loop is. */
const LAG_LOOK_EVERY_MS = 1000;

/** How the process is; what a platform cannot tell is left out. */
export interface ProcessFigures {
  /** Processor time of the whole process so far, in milliseconds. */
  cpuMs(): number;
  rssBytes(): number;
  heapUsedBytes(): number;
  uptimeSeconds(): number;
}

/** Looks at the process from time to time and hands over what it saw, as `Metric`s of OTLP/JSON. */
export class WorkerGauges {
  readonly #clock: Clock;
  readonly #figures: ProcessFigures;
  readonly #hand: (metrics: readonly string[]) => void;
  #attributes = "[]";
  #cpuMs = 0;
  #sinceMs = 0;
  #worstLagMs = 0;
  #dueMs = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(options: { readonly clock: Clock; readonly figures: ProcessFigures; readonly hand: (metrics: readonly string[]) => void }) {
    this.#clock = options.clock;
    this.#figures = options.figures;
    this.#hand = options.hand;
  }

  /** The worker is connected, under this id. */
  start(workerId: string, name: string): void {
    this.stop();
    const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } });
    this.#attributes = JSON.stringify([attribute("worker.id", workerId), attribute("worker.name", name)]);
    this.#cpuMs = this.#figures.cpuMs();
    this.#sinceMs = this.#clock.monotonicMs();
    this.#worstLagMs = 0;
    this.#dueMs = this.#sinceMs + FIRST_GAUGES_AFTER_MS;
    this.#look();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #look(): void {
    const expectedMs = this.#clock.monotonicMs() + LAG_LOOK_EVERY_MS;
    this.#cancel = this.#clock.after(
      LAG_LOOK_EVERY_MS,
      () => {
        const nowMs = this.#clock.monotonicMs();
        this.#worstLagMs = Math.max(this.#worstLagMs, nowMs - expectedMs);
        if (nowMs >= this.#dueMs) this.#tell(nowMs);
        this.#look();
      },
      { background: true },
    );
  }

  #tell(nowMs: number): void {
    const cpuMs = this.#figures.cpuMs();
    const percent = (100 * (cpuMs - this.#cpuMs)) / Math.max(1, nowMs - this.#sinceMs);
    const time = nanosOf(wallTimeMs());
    const gauge = (name: string, unit: string, value: number): string =>
      `{"name":"svc.worker.${name}","unit":"${unit}","gauge":{"dataPoints":[{"timeUnixNano":"${time}","attributes":${this.#attributes},"asDouble":${value}}]}}`;
    this.#hand([
      gauge("cpu_percent", "%", rounded(percent)),
      gauge("rss_bytes", "By", this.#figures.rssBytes()),
      gauge("heap_used_bytes", "By", this.#figures.heapUsedBytes()),
      gauge("event_loop_lag_ms", "ms", rounded(this.#worstLagMs)),
      gauge("uptime_seconds", "s", rounded(this.#figures.uptimeSeconds())),
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
