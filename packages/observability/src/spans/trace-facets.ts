import { statusOf, type TraceFacts } from "./trace-facts.ts";

/** Values of a trace for the usual facets. Each value occurs once. */
export interface FacetValues {
  readonly status: readonly string[];
  readonly service: readonly string[];
  readonly function_id: readonly string[];
  readonly trigger_type: readonly string[];
}

export const DEFAULT_FACETS = [
  "status",
  "service",
  "function_id",
  "trigger_type",
] as const satisfies (keyof FacetValues)[];

export function facetValuesOf(facts: TraceFacts): FacetValues {
  return {
    status: [statusOf(facts)],
    service: facts.services,
    function_id: facts.functions,
    trigger_type: facts.triggerType === undefined ? [] : [facts.triggerType],
  };
}

/** Maximum number of combinations of values that are remembered. */
const MAX_COMBINATIONS = 10_000;

/**
 * Returns the same object for traces with the same values. So counting compares objects instead of strings, which is
 * faster.
 */
export class SharedFacetValues {
  readonly #values = new Map<string, FacetValues>();

  of(facts: TraceFacts): FacetValues {
    const values = facetValuesOf(facts);
    const key = JSON.stringify(values);
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    if (this.#values.size >= MAX_COMBINATIONS) this.#values.clear();
    this.#values.set(key, values);
    return values;
  }
}
