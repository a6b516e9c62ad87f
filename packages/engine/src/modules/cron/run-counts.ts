import type { Measurement } from "../../kernel/telemetry-contract.ts";
import type { Delivered } from "./delivery.ts";

/** Counts ended runs by outcome since the module started. */
export class RunCounts {
  readonly #byOutcome = new Map<Delivered["outcome"], number>();

  ended({ outcome }: Pick<Delivered, "outcome">): void {
    this.#byOutcome.set(outcome, (this.#byOutcome.get(outcome) ?? 0) + 1);
  }

  measure(): readonly Measurement[] {
    return [...this.#byOutcome].map(([outcome, value]) => ({
      name: "svc.cron.runs",
      type: "counter",
      description: "Ended runs of cron jobs, by outcome",
      labels: { outcome },
      value,
    }));
  }
}
