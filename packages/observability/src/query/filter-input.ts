import { CallError, nearestName } from "@svc-runtime/protocol";
import { problemText, type QueryProblem } from "@svc-runtime/protocol/query";
import { z } from "zod";

export const MAX_FILTERS = 50;
const MAX_KEY = 512;
const MAX_VALUE = 8_192;

const key = z.string().min(1).max(MAX_KEY);

export const filterSchema = z
  .strictObject({
    key: key.meta({ description: "Name of an attribute; `resource.NAME` for one of the resource; or a field" }),
    op: z
      .enum([
        ...["equals", "not_equals", "contains", "not_contains", "like", "not_like"],
        ...["gt", "gte", "lt", "lte", "exists", "not_exists"],
      ] as const)
      .default("equals")
      .meta({ description: "like: in the value, `*` stands for any text" }),
    value: z.union([z.string().max(MAX_VALUE), z.number(), z.boolean()]).optional(),
  })
  .refine(({ op, value }) => value !== undefined || op === "exists" || op === "not_exists", {
    path: ["value"],
    message: "is missing",
  });
export type Filter = z.infer<typeof filterSchema>;

export const filtersSchema = z.array(filterSchema).max(MAX_FILTERS);

/** Pairs of key and value, `[[key, value]]`. All of these attributes must have these values. */
export const attributePairsSchema = z.array(z.tuple([key, z.string().max(MAX_VALUE)])).max(MAX_FILTERS);

/** Maximum length of a query, in characters. */
const MAX_QUERY = 4_000;

/** A query in the query language (see docs/guide/queries.md). */
export const querySchema = z.string().max(MAX_QUERY).meta({
  description: "Query that must match as well, e.g. error and function:orders::* and duration>100ms; see the guide",
});

/** Throws `invalid_input` with the first problem of a query, if there is one. */
export function rejectProblems(problems: readonly QueryProblem[]): void {
  const [first] = problems;
  if (first !== undefined) throw new CallError("invalid_input", `\`query\`: ${problemText(first)}`);
}

/**
 * Accepts one of the given words, in any case. The error message lists these words, but not the other spellings that
 * `alsoKnown` accepts.
 */
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
