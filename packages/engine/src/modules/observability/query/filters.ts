import { z } from "zod";
import { nearestName } from "../../../kernel/nearest-name.ts";
import type { AttributeValue } from "../../../kernel/telemetry-contract.ts";
import { textOfValue } from "./attributes.ts";

export const MAX_FILTERS = 50;
const MAX_KEY = 512;
const MAX_VALUE = 8_192;

const key = z.string().min(1).max(MAX_KEY);

export const filterSchema = z
  .strictObject({
    key: key.meta({ description: "Name of an attribute; `resource.NAME` for one of the resource; or a field" }),
    op: z
      .enum(["equals", "not_equals", "contains", "not_contains", "gt", "gte", "lt", "lte", "exists", "not_exists"])
      .default("equals"),
    value: z.union([z.string().max(MAX_VALUE), z.number(), z.boolean()]).optional(),
  })
  .refine(({ op, value }) => value !== undefined || op === "exists" || op === "not_exists", {
    path: ["value"],
    message: "is missing",
  });
export type Filter = z.infer<typeof filterSchema>;

export const filtersSchema = z.array(filterSchema).max(MAX_FILTERS);

/** `[[key, value]]`: all of these attributes must be equal. */
export const attributePairsSchema = z.array(z.tuple([key, z.string().max(MAX_VALUE)])).max(MAX_FILTERS);

/** The operators that `not_equals`, `not_contains` and `not_exists` negate. */
const OPPOSITES = { not_equals: "equals", not_contains: "contains", not_exists: "exists" } as const;
type Positive = Exclude<Filter["op"], keyof typeof OPPOSITES>;

export interface CompiledFilter {
  readonly key: string;
  readonly op: Positive;
  /** True: the filter matches if this condition does not, e.g. for `not_equals`. */
  readonly negated: boolean;
  readonly value: string | number | boolean | undefined;
  /** Tests one value against `op`. The caller applies `negated`, to a span or to a trace. */
  matches(value: AttributeValue | undefined): boolean;
}

/** `equals` compares strings, `contains` ignores case, and gt, gte, lt, lte compare numbers and numeric strings. */
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

/** One of the given words, in any case. The error names them, but not the other spellings that `alsoKnown` accepts. */
export function oneOf(words: readonly string[], alsoKnown: (word: string) => boolean = () => false): z.ZodString {
  const known = new Set(words.map((word) => word.toLowerCase()));
  return z
    .string()
    .max(64)
    .refine((word) => known.has(word.toLowerCase()) || alsoKnown(word), {
      error({ input }) {
        const nearest = nearestName(String(input), words);
        return `must be one of ${words.join(", ")}${nearest === undefined ? "" : `; did you mean ${nearest}?`}`;
      },
    });
}
