import { isOwn, type ProvidedFunction } from "../../lib/own-functions.ts";
import type { FunctionFigures } from "../../lib/use-function-figures.ts";

// Figures of workers' functions. Other functions are left out, because the engine also counts the calls that this page
// makes.

export interface OwnFunction extends ProvidedFunction {
  readonly function_id: string;
}

/** Returns the ids of the functions that workers provide. `modules` has the ids of the workers that are modules. */
export function ownIds(functions: readonly OwnFunction[], modules: ReadonlySet<string>): ReadonlySet<string> {
  return new Set(functions.filter((each) => isOwn(each, modules)).map(({ function_id }) => function_id));
}

export interface OwnFigures {
  readonly calls: number;
  readonly errors: number;
  readonly errorRate: number;
  /** The function with the highest p95. Undefined if no function was called. */
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
