import { z } from "zod";
import { pageStartsSchema, positionSchema } from "../../query/node-positions.ts";
import { aroundInput, facetsInput, listInput } from "../functions/inputs.ts";
import { logFilterMembers } from "../log-filter-input.ts";

const time = z.number();

/** A question that a node sends to all nodes, including itself. */
export const questionSchema = z.discriminatedUnion("what", [
  /** A page of entries. */
  z.object({
    what: z.literal("page"),
    filter: listInput(),
    starts: pageStartsSchema,
    limit: z.int().min(1).max(5_000),
    /** If true, all matches are counted too. */
    count: z.boolean(),
  }),
  z.object({ what: z.literal("count"), filter: z.object(logFilterMembers()) }),
  z.object({ what: z.literal("facets"), filter: facetsInput() }),
  z.object({
    what: z.literal("histogram"),
    filter: z.object(logFilterMembers()),
    start_ms: time,
    end_ms: time,
    buckets: z.int().min(1).max(1_000),
  }),
  /** Asks for an entry of one node. The other nodes answer that they do not have it. */
  z.object({ what: z.literal("entry"), node: z.string(), id: z.string() }),
  z.object({ what: z.literal("around"), node: z.string(), input: aroundInput() }),
]);
export type Question = z.infer<typeof questionSchema>;

const logs = z.array(z.looseObject({ id: z.string() }));
const counts = z.record(z.string(), z.int().min(0));
const tally = { total: z.int().min(0), whole: z.boolean() };

export const pageSchema = z.object({
  rows: z.array(z.object({ log: z.looseObject({ id: z.string() }), at: positionSchema })),
  next: positionSchema.nullable(),
  /** Null if the question does not ask for a count. */
  counted: z.object(tally).nullable(),
});
export const countSchema = z.object({ ...tally, first_ms: time.optional(), last_ms: time.optional() });
export const facetsSchema = z.object({ ...tally, facets: z.record(z.string(), counts) });
export const histogramSchema = z.object({ ...tally, levels: z.array(z.array(z.int().min(0))) });
export const entrySchema = z.object({ found: z.looseObject({ id: z.string() }).nullable() });
export const aroundSchema = z.object({
  found: z.object({ logs, more_before: z.boolean(), more_after: z.boolean() }).nullable(),
});
