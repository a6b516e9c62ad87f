import { isOwn, type ProvidedFunction } from "../../lib/own-functions.ts";
import type { FunctionFigures } from "../../lib/use-function-figures.ts";

// The engine also counts the calls that this page makes. So the figures here cover only workers' functions.

export interface OwnFunction extends ProvidedFunction {
  readonly function_id: string;
}

/** Returns the IDs of the functions that workers provide. `modules`: IDs of the workers that are modules. */
export function ownIds(functions: readonly OwnFunction[], modules: ReadonlySet<string>): ReadonlySet<string> {
  return new Set(functions.filter((each) => isOwn(each, modules)).map(({ function_id }) => function_id));
}

export interface OwnFigures {
  readonly calls: number;
  readonly errors: number;
  readonly errorRate: number;
  /** The function with the highest p95; undefined if none was called. */
  readonly slowest: FunctionFigures | undefined;
}

export function ownFigures(figures: readonly FunctionFigures[]): OwnFigures {
  const calls = figures.reduce((sum, each) => sum + each.calls, 0);
  const errors = figures.reduce((sum, each) => sum + each.errors, 0);
  const called = figures.filter(({ p95_ms }) => p95_ms !== null);
  const slowest = called.reduce<FunctionFigures | undefined>(
    (max, each) => ((each.p95_ms ?? 0) > (max?.p95_ms ?? -1) ? each : max),
    undefined,
  );
  return { calls, errors, errorRate: calls === 0 ? 0 : errors / calls, slowest };
}

export interface CallSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [number, number | null])[];
}

export interface CallLine {
  readonly calls: readonly (number | null)[];
  readonly errors: readonly (number | null)[];
}

/** Calls per minute and percentage of failures over time. Null where the engine has no data. */
export function callLine(series: readonly CallSeries[], own: ReadonlySet<string>): CallLine {
  const known = new Set<number>();
  const sums = new Map<number, { calls: number; errors: number }>();
  for (const { labels, points } of series) {
    for (const [ms, value] of points) {
      const sum = sums.get(ms) ?? { calls: 0, errors: 0 };
      sums.set(ms, sum);
      if (value === null) continue;
      // A value of any function shows that the engine was running then.
      known.add(ms);
      if (!own.has(labels.function_id ?? "")) continue;
      sum.calls += value * 60;
      if (labels.outcome !== "ok") sum.errors += value * 60;
    }
  }
  const inOrder = [...sums].sort(([a], [b]) => a - b);
  return {
    calls: inOrder.map(([ms, { calls }]) => (known.has(ms) ? calls : null)),
    errors: inOrder.map(([ms, { calls, errors }]) => (known.has(ms) && calls > 0 ? (errors / calls) * 100 : null)),
  };
}
