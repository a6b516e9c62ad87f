import type { Spread } from "./statistics.ts";

/** A limit for a measured value. */
export interface Bar {
  /** Number of the scenario's row, which `--rows` selects. `docs/performance.md` lists the rows that have limits. */
  readonly row: number;
  readonly what: string;
  readonly measured: Spread;
  /** Unit of the numbers. `x` is a ratio to the baseline that `what` names. */
  readonly unit: "x" | "MB" | "KB" | "ms" | "us" | "/s" | "%" | "requests";
  readonly limit: number;
  readonly sense: "at most" | "at least";
  /** Binding bars decide the exit status with `--strict`. Quoted ones are shown with a verdict only. */
  readonly standing: "binding" | "quoted";
}

/** The median is compared with the limit. */
export function holds(bar: Bar): boolean {
  return bar.sense === "at most" ? bar.measured.median <= bar.limit : bar.measured.median >= bar.limit;
}

export type Verdict = "pass" | "FAIL" | "holds" | "misses";

/** Returns `pass` or `FAIL` for a binding bar, `holds` or `misses` for a quoted one. */
export function verdictOf(bar: Bar): Verdict {
  if (bar.standing === "binding") return holds(bar) ? "pass" : "FAIL";
  return holds(bar) ? "holds" : "misses";
}
