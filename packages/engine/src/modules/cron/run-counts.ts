import type { Measurement } from "../../kernel/telemetry-contract.ts";
import type { Delivered } from "./delivery.ts";

/** How runs ended since the module started. */
export class RunCounts {
  readonly #byOutcome = new Map<Delivered["outcome"], number>();

  ended({ outcome }: Pick<Delivered, "outcome">): void {
    this.#byOutcome.set(outcome, (this.#byOutcome.get(outcome) ?? 0) + 1);
  }

  measure(): readonly Measurement[] {
    return [...this.#byOutcome].map(([outcome, value]) => ({
      name: "svc.cron.runs",
      type: "counter",
      description: "Runs of cron jobs that ended, by outcome",
      labels: { outcome },
      value,
    }));
  }
}
