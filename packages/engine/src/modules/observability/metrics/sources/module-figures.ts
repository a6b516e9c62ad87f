import type { Clock } from "../../../../kernel/clock.ts";
import type { Measure, Measurement, Telemetry } from "../../../../kernel/telemetry-contract.ts";
import type { DropCounter } from "../../model.ts";
import type { SeriesStore } from "../series-store.ts";

/** How long a module may take to answer, in milliseconds. */
const DEADLINE_MS = 4_000;
/** Figures of one module at one time; further ones are dropped. */
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

/** What modules measure. One that does not answer in time is not asked again until it has. */
export class ModuleFigures {
  readonly #parts: Parts;
  readonly #busy = new Set<Measure>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** `skips`: what counters grew by until now, while nobody sampled, is left out. */
  sample(at: number, { skips }: { readonly skips: boolean } = { skips: false }): void {
    for (const measure of this.#parts.telemetry.measures) {
      if (this.#busy.has(measure)) continue;
      let answer: Iterable<Measurement> | Promise<Iterable<Measurement>>;
      try {
        answer = measure();
      } catch {
        this.#parts.drops.dropped("metrics", "measurement_failed", 1);
        continue;
      }
      if (answer instanceof Promise) this.#wait(measure, answer, { at, skips });
      else this.#take(answer, { at, skips });
    }
  }

  #wait(measure: Measure, answer: Promise<Iterable<Measurement>>, when: When): void {
    this.#busy.add(measure);
    let isLate = false;
    const cancel = this.#parts.clock.after(DEADLINE_MS, () => {
      isLate = true;
      this.#parts.drops.dropped("metrics", "measurement_late", 1);
    });
    answer
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
      // It was told, and is not silent though it did not grow.
      series.at = at;
      // Less than before: the module was started again and counts from 0.
      const more = value < before ? value : value - before;
      if (more > 0 && !skips) series.increase(at, more);
    }
  }
}
