import type { AttributeValue } from "@svc-runtime/engine/module";
import { compileGlob } from "@svc-runtime/protocol/query";
import { textOfValue } from "./attributes.ts";
import type { Filter } from "./filter-input.ts";

// The store thread loads this file, so it imports neither zod nor the engine's code.

/** The negated operators, each with the operator that it negates. */
const OPPOSITES = { not_equals: "equals", not_contains: "contains", not_like: "like", not_exists: "exists" } as const;
type Positive = Exclude<Filter["op"], keyof typeof OPPOSITES>;

export interface CompiledFilter {
  readonly key: string;
  readonly op: Positive;
  /** True if the filter matches when the condition does not, for example for `not_equals`. */
  readonly negated: boolean;
  readonly value: string | number | boolean | undefined;
  /** Tests one value against `op`. It ignores `negated`, which the caller applies to a span or to a trace. */
  matches(value: AttributeValue | undefined): boolean;
}

/**
 * Compiles a filter. `equals` compares strings. In `like`, a `*` stands for any text. `contains` ignores case. `gt`,
 * `gte`, `lt` and `lte` compare numbers and numeric strings.
 */
export function compileFilter({ key, op, value }: Filter): CompiledFilter {
  const negated = Object.hasOwn(OPPOSITES, op);
  const positive = negated ? OPPOSITES[op as keyof typeof OPPOSITES] : (op as Positive);
  return { key, op: positive, negated, value, matches: predicateOf(positive, value) };
}

function predicateOf(op: Positive, wanted: Filter["value"]): (value: AttributeValue | undefined) => boolean {
  if (op === "exists") return (value) => value !== undefined;
  const text = String(wanted);
  if (op === "equals") return (value) => value !== undefined && textOfValue(value) === text;
  if (op === "contains") {
    const lower = text.toLowerCase();
    return (value) => value !== undefined && textOfValue(value).toLowerCase().includes(lower);
  }
  if (op === "like") {
    const matches = compileGlob(text);
    return (value) => value !== undefined && matches(textOfValue(value));
  }
  const bound = numberOf(wanted);
  if (bound === undefined) return () => false;
  const compare = COMPARISONS[op];
  return (value) => {
    const number = numberOf(value);
    return number !== undefined && compare(number, bound);
  };
}

const COMPARISONS = {
  gt: (a: number, b: number) => a > b,
  gte: (a: number, b: number) => a >= b,
  lt: (a: number, b: number) => a < b,
  lte: (a: number, b: number) => a <= b,
} as const;

function numberOf(value: AttributeValue | undefined): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || value.trim() === "") return undefined;
  const number = Number(value);
  return Number.isNaN(number) ? undefined : number;
}
