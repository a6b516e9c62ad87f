import type { Clock, Measure, Measurement, Telemetry } from "@svc-runtime/engine/module";
import type { DropCounter } from "../../telemetry-records.ts";
import type { SeriesStore } from "../series-store.ts";

/** Maximum time for a module to return its measurements, in milliseconds. */
const DEADLINE_MS = 4_000;
/** Maximum number of measurements that one module may return per sample. Further ones are dropped. */
const MAX_MEASUREMENTS = 5_000;

interface Parts {
  readonly telemetry: Pick<Telemetry, "measures">;
  readonly store: SeriesStore;
  readonly clock: Clock;
  readonly drops: DropCounter;
}

interface When {
  readonly at: number;
  readonly skips: boolean;
}

/** Samples the measurements of modules. A module that has not returned the last ones yet is not called again. */
export class ModuleCollector {
  readonly #parts: Parts;
  readonly #busy = new Set<Measure>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Takes a sample. With `skips`, ignores the increases from the time when sampling was off. */
  sample(at: number, { skips }: { readonly skips: boolean } = { skips: false }): void {
    for (const measure of this.#parts.telemetry.measures) {
      if (this.#busy.has(measure)) continue;
      let result: Iterable<Measurement> | Promise<Iterable<Measurement>>;
      try {
        result = measure();
      } catch {
        this.#parts.drops.dropped("metrics", "measurement_failed", 1);
        continue;
      }
      if (result instanceof Promise) this.#wait(measure, result, { at, skips });
      else this.#take(result, { at, skips });
    }
  }

  #wait(measure: Measure, result: Promise<Iterable<Measurement>>, when: When): void {
    this.#busy.add(measure);
    let isLate = false;
    const cancel = this.#parts.clock.after(DEADLINE_MS, () => {
      isLate = true;
      this.#parts.drops.dropped("metrics", "measurement_late", 1);
    });
    result
      .then((measurements) => {
        if (!isLate) this.#take(measurements, when);
      })
      .catch(() => this.#parts.drops.dropped("metrics", "measurement_failed", 1))
      .finally(() => {
        cancel();
        this.#busy.delete(measure);
      });
  }

  #take(measurements: Iterable<Measurement>, { at, skips }: When): void {
    let count = 0;
    for (const { name, type, unit = "1", description = "", labels = {}, value } of measurements) {
      if (!Number.isFinite(value)) continue;
      if (++count > MAX_MEASUREMENTS) {
        this.#parts.drops.dropped("metrics", "measurements_limit", 1);
        return;
      }
      const series = this.#parts.store.number({ name, type, unit, description }, labels);
      if (series === undefined) continue;
      if (type === "gauge") {
        series.set(at, value);
        continue;
      }
      const before = series.cumulative ?? 0;
      series.cumulative = value;
      // The series counts as active, because it was measured even if it did not grow.
      series.at = at;
      // A smaller value means that the module restarted and counts from 0.
      const more = value < before ? value : value - before;
      if (more > 0 && !skips) series.increase(at, more);
    }
  }
}
