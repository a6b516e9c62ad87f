import type { DropCounter } from "./telemetry-records.ts";

type Dropped = "spans" | "logs" | "metrics";

/**
 * Maximum number of pairs of signal and reason that have their own counter. Further pairs are counted with the reason
 * `other`.
 */
const MAX_REASONS = 100;

/** Counts what the module dropped since the engine started, by signal and reason. */
export class DropCounts implements DropCounter {
  readonly #counts = new Map<string, { readonly signal: Dropped; readonly reason: string; count: number }>();

  dropped(signal: Dropped, reason: string, count: number): void {
    const known = this.#counts.get(`${signal} ${reason}`);
    if (known !== undefined) known.count += count;
    else if (this.#counts.size < MAX_REASONS || reason === "other")
      this.#counts.set(`${signal} ${reason}`, { signal, reason, count });
    else this.dropped(signal, "other", count);
  }

  entries(): readonly { readonly signal: Dropped; readonly reason: string; readonly count: number }[] {
    return [...this.#counts.values()].map((entry) => ({ ...entry }));
  }
}
