import { cpus, release } from "node:os";
import type { Bar } from "./bars.ts";
import { holds, verdictOf } from "./bars.ts";
import type { Compared } from "./comparison.ts";
import type { Options } from "./options.ts";
import type { Measurement } from "./table.ts";

/** Outcome of one scenario. */
export interface Outcome {
  readonly title: string;
  readonly rows: readonly number[];
  readonly bars: readonly Bar[];
  readonly measurements: readonly Measurement[];
  readonly notes: readonly string[];
  /** The same loads on the engine of another checkout, if one was given. */
  readonly compared: readonly Compared[];
  /** Why there are no values. */
  readonly failure: string | undefined;
}

/** Returns whether every binding bar holds and no scenario with binding bars failed. */
export function allBindingHold(outcomes: readonly Outcome[], bindingRows: ReadonlySet<number>): boolean {
  return outcomes.every(
    (outcome) =>
      outcome.bars.every((bar) => bar.standing === "quoted" || holds(bar)) &&
      (outcome.failure === undefined || !outcome.rows.some((row) => bindingRows.has(row))),
  );
}

/** Returns the contents of the result file. */
export function resultsDocument(outcomes: readonly Outcome[], options: Options, startedAt: Date): object {
  return {
    startedAt: startedAt.toISOString(),
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, kernel: release(), node: process.version },
    options: { ...options, rows: [...options.rows] },
    outcomes: outcomes.map((outcome) => ({
      ...outcome,
      bars: outcome.bars.map((bar) => ({ ...bar, verdict: verdictOf(bar) })),
    })),
  };
}
