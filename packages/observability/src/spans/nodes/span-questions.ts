import { z } from "zod";
import { pageStartsSchema, positionSchema } from "../../query/node-positions.ts";
import type { SpanJson } from "../disk/span-json.ts";
import type { TraceFacts } from "../trace-facts.ts";
import { traceFiltersSchema, traceSortSchema } from "../trace-query.ts";

/** Maximum number of traces that are counted at one node. The newest ones are counted. */
export const MAX_COUNTED_OF_NODE = 5_000;

const traceId = z.string().min(1).max(64);
const wantedSpans = z.enum(["none", "root", "all"]);
const filters = traceFiltersSchema().omit({ query: true });

/** A question that a node sends to all nodes, including itself. */
export const questionSchema = z.discriminatedUnion("what", [
  /** Asks for a page of traces. */
  z.object({
    what: z.literal("page"),
    filters,
    sort_by: traceSortSchema,
    descending: z.boolean(),
    starts: pageStartsSchema,
    limit: z.int().min(1).max(1_000),
  }),
  /** Asks for the newest traces. */
  z.object({ what: z.literal("scan"), filters, max: z.int().min(1).max(MAX_COUNTED_OF_NODE) }),
  /** Asks what each node has of certain traces, and whether these parts match the filters. */
  z.object({ what: z.literal("parts"), filters, ids: z.array(traceId), spans: wantedSpans }),
  /** Asks for the spans of a trace. `from` is the number of spans that each node has already sent. */
  z.object({ what: z.literal("spans"), trace_id: traceId, from: z.record(z.string(), z.int().min(0)) }),
  z.object({ what: z.literal("span"), trace_id: traceId, span_id: z.string().min(1).max(32) }),
]);
export type Question = z.infer<typeof questionSchema>;

const facts = z
  .object({
    traceId,
    rootSpanId: z.string(),
    partial: z.boolean(),
    rootStartUs: z.number(),
    rootEndUs: z.number().optional(),
    rootStatus: z.enum(["ok", "error", "unset"]),
    rootName: z.string(),
    service: z.string(),
    services: z.array(z.string()),
    internal: z.boolean(),
    triggerType: z.string().optional(),
    functionId: z.string().optional(),
    functionStartUs: z.number(),
    functions: z.array(z.string()),
    startUs: z.number(),
    endUs: z.number(),
    spanCount: z.number(),
    errorCount: z.number(),
    errorEndsUs: z.array(z.number()),
    pendingCount: z.number(),
  })
  .transform(
    ({ rootEndUs, triggerType, functionId, ...rest }): TraceFacts => ({ ...rest, rootEndUs, triggerType, functionId }),
  );

const anyRecord = z.custom<SpanJson["attributes"]>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);
const nanos = z.string().regex(/^-?\d{1,20}$/);
/** A span in the form that `writeSpan` writes. */
const span = z
  .object({
    traceId,
    spanId: z.string(),
    parentSpanId: z.string().optional(),
    name: z.string(),
    kind: z.enum(["internal", "server", "client", "producer", "consumer"]),
    start: nanos,
    end: nanos.optional(),
    status: z.enum(["ok", "error", "unset"]),
    attributes: anyRecord,
    events: z.array(z.looseObject({ name: z.string(), time: nanos, attributes: anyRecord })),
    links: z.array(z.looseObject({ traceId: z.string(), spanId: z.string(), attributes: anyRecord })),
    baggage: anyRecord,
    resource: z.looseObject({ service: z.string(), attributes: anyRecord }),
    internal: z.boolean(),
  })
  .loose()
  .transform((value) => value as unknown as SpanJson);

export const pageSchema = z.object({
  rows: z.array(z.object({ facts, at: positionSchema })),
  next: positionSchema.nullable(),
});
export const scanSchema = z.object({ rows: z.array(facts), exact: z.boolean() });
export const partsSchema = z.object({
  parts: z.array(z.object({ facts, matches: z.boolean(), spans: z.array(span) })),
  /** Number of requested ids that the answer covers. They are the first ones of the question. */
  done: z.int().min(0),
});
export const spansSchema = z.object({ spans: z.array(span), more: z.boolean() });
export const spanSchema = z.object({ span: span.nullable() });
