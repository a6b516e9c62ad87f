import { type ModuleContext, schemaOf } from "@svc-runtime/engine/module";
import { z } from "zod";
import { checkProgress, mergedFrom } from "../../query/ask-nodes.ts";
import { openCursor, readCursor, sealCursor, writeCursor } from "../../query/cursor.ts";
import type { TracePage } from "../span-store.ts";
import { storedSpan, traceSummary } from "../stored-span.ts";
import { groupTraces, traceFacets, traceHistogram } from "../trace-aggregates.ts";
import { DEFAULT_FACETS } from "../trace-facets.ts";
import {
  type TracePosition,
  traceFiltersOf,
  traceFiltersSchema,
  traceListSchema,
  traceSortSchema,
} from "../trace-query.ts";
import type { TraceFunctions } from "./trace-functions.ts";

const LIST = "traces";
const scalar = z.union([z.string(), z.number()]);
/** Sort order that the cursor belongs to, and a position in it. */
const cursorParts = z.tuple([traceSortSchema, scalar, scalar]);

const attributeName = z.string().min(1).max(512);

export function provideListFunctions(context: ModuleContext<unknown>, functions: TraceFunctions): void {
  context.provideFunction({
    id: "engine::traces::list",
    summary: "Traces that match, newest first: the root span of each with a summary of the trace",
    input: traceListSchema,
    async handle(input, { access }) {
      const store = functions.spansFor(access);
      const { offset, limit, cursor, sort_by: sortBy, sort_order, ...wanted } = input;
      const filters = traceFiltersOf(wanted);
      const asOf = context.clock.now();
      // The cursor is sealed for restricted callers, because the position may be that of a trace which is hidden from
      // the caller.
      const [read, write] = access === undefined ? [readCursor, writeCursor] : [openCursor, sealCursor];
      const after = cursor === undefined ? undefined : positionIn(cursor, sortBy, read);
      const page = await store.list({
        filters,
        sortBy,
        descending: sort_order === "desc",
        after,
        offset,
        limit,
        spans: "root",
      });
      if (store.asked !== undefined) checkProgress(after?.tie, page.next?.tie);
      return {
        spans: page.rows.flatMap(({ facts, spans: [root] }) =>
          root === undefined ? [] : [{ ...storedSpan(root), trace: traceSummary(facts) }],
        ),
        total: page.total,
        ...(page.totalIsExact ? {} : { total_is_lower_bound: true }),
        offset,
        limit,
        cursor: cursorOf(page, sortBy, write),
        // Says that the page is short but not the last one. Otherwise clients would take it for the last page or an
        // empty result.
        ...(page.next !== undefined && page.rows.length < limit ? { partial: true } : {}),
        as_of: asOf,
        storage: store.storage,
        ...mergedFrom(store.asked),
      };
    },
  });
  context.provideFunction({
    id: "engine::traces::facets",
    summary: "Number of matching traces per status, service, function, trigger type or attribute",
    input: () =>
      z.object({
        ...schemaOf(traceFiltersSchema).shape,
        facets: z
          .array(attributeName)
          .min(1)
          .max(20)
          .default([...DEFAULT_FACETS]),
      }),
    async handle({ facets, ...filters }, { access }) {
      const store = functions.spansFor(access);
      const { exact, ...counted } = await traceFacets(store, traceFiltersOf(filters), facets);
      return { ...counted, ...(exact ? {} : { total_is_lower_bound: true }), ...mergedFrom(store.asked) };
    },
  });
  context.provideFunction({
    id: "engine::traces::histogram",
    summary: "Number of matching traces over time, and by duration",
    input: () => z.object({ ...schemaOf(traceFiltersSchema).shape, buckets: z.int().min(1).max(1_000).default(60) }),
    async handle({ buckets, ...filters }, { access }) {
      const store = functions.spansFor(access);
      const { exact, ...counted } = await traceHistogram(store, traceFiltersOf(filters), buckets);
      return { ...counted, ...(exact ? {} : { total_is_lower_bound: true }), ...mergedFrom(store.asked) };
    },
  });
  context.provideFunction({
    id: "engine::traces::group_by",
    summary: "Traces that share the value of an attribute, the latest group first",
    input: () =>
      z.object({
        attribute: attributeName,
        since_ms: z.number().optional().meta({ description: "Milliseconds since 1970; earlier traces are left out" }),
        limit: z.int().min(1).max(1_000).default(100),
        include_internal: z.boolean().default(false),
        label_attribute: attributeName
          .optional()
          .meta({ description: "Attribute whose value labels the group; default: the value itself" }),
      }),
    async handle({ attribute, since_ms, limit, include_internal, label_attribute }, { access }) {
      const filters = schemaOf(traceFiltersSchema).parse({
        include_internal,
        start_time: since_ms,
        filters: [{ key: attribute, op: "exists" }],
      });
      const store = functions.spansFor(access);
      const groups = await groupTraces(store, filters, { attribute, label: label_attribute, limit });
      return { groups, ...mergedFrom(store.asked) };
    },
  });
}

type SortBy = z.infer<typeof traceSortSchema>;

function cursorOf({ next }: TracePage, sortBy: SortBy, write: typeof writeCursor): string | null {
  return next === undefined ? null : write(LIST, [sortBy, next.value, next.tie]);
}

/** Returns the position of a cursor. Rejects a cursor that belongs to another sort order. */
function positionIn(cursor: string, sortBy: SortBy, read: typeof readCursor): TracePosition {
  const parts = cursorParts.refine(([of]) => of === sortBy);
  const [, value, tie] = read(LIST, cursor, parts);
  return { value, tie };
}
