import type { ModuleContext } from "@svc-runtime/engine/module";
import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";
import { mergedFrom } from "../../query/ask-nodes.ts";
import { textOfValue } from "../../query/attributes.ts";
import { cursorSchema, readCursor, writeCursor } from "../../query/cursor.ts";
import type { SpanRecord } from "../../telemetry-records.ts";
import { compareTraces } from "../compare-traces.ts";
import { MAX_READ_SPANS, type SpanReader } from "../span-store.ts";
import { buildSpanForest, preorder, type SpanNode, servicesOf } from "../span-tree.ts";
import { leanSpan, type StoredSpan, storedSpan, traceSummary } from "../stored-span.ts";
import { factsOf } from "../trace-facts.ts";
import type { TraceFunctions } from "./trace-functions.ts";

const traceId = z
  .string()
  .min(1)
  .max(64)
  .transform((id) => id.toLowerCase());
const spanId = z
  .string()
  .min(1)
  .max(32)
  .transform((id) => id.toLowerCase());
const spanCursor = z.tuple([z.string()]);

type TreeSpan = StoredSpan & { readonly children: TreeSpan[]; readonly child_count: number };

const FORMS = { full: storedSpan, lean: leanSpan, ids: (span: SpanRecord) => ({ span_id: span.spanId }) } as const;

export function provideReadFunctions(context: ModuleContext<unknown>, functions: TraceFunctions): void {
  context.provideFunction({
    id: "engine::traces::tree",
    summary:
      "A trace as trees of spans, page by page; spans whose parents are on an earlier page, or that are nested too deep, are roots",
    input: () =>
      z.object({
        trace_id: traceId,
        root_span_id: spanId.optional().meta({ description: "Only this span and its descendants" }),
        max_depth: z
          .int()
          .min(0)
          .max(100_000)
          .optional()
          .meta({ description: "0: only the roots. child_count includes children that are left out" }),
        limit: z.int().min(1).max(20_000).default(2_000),
        cursor: cursorSchema.optional(),
      }),
    async handle(input, { access }) {
      const store = functions.spansFor(access);
      const page = treePage(await store.spansOf(input.trace_id), input);
      return { ...page, ...mergedFrom(store.asked) };
    },
  });
  context.provideFunction({
    id: "engine::traces::spans",
    summary: "The spans of a trace by start time",
    input: () =>
      z.object({
        trace_id: traceId,
        cursor: cursorSchema.optional(),
        limit: z.int().min(1).max(10_000).default(1_000),
        text: z.string().max(1_000).optional().meta({
          description: "Only spans that contain every word in their name, service, id, description or attributes",
        }),
        detail: z.enum(["full", "lean", "ids"]).default("full").meta({
          description:
            "lean: without attributes, links, baggage and resource, and events only with name and time; ids: only the span ids",
        }),
      }),
    async handle({ trace_id, cursor, limit, text, detail }, { access }) {
      const store = functions.spansFor(access);
      const stored = await store.spansOf(trace_id);
      const all = text === undefined ? stored : stored.filter(textMatcher(text));
      const { page, next } = pageAfter(all, { kind: "spans", cursor, limit, idOf: (span) => span.spanId });
      return { spans: page.map<object>(FORMS[detail]), total: all.length, cursor: next, ...mergedFrom(store.asked) };
    },
  });
  context.provideFunction({
    id: "engine::traces::get_span",
    summary: "One span with its events, links, baggage and resource; null if it is not found",
    input: () => z.object({ trace_id: traceId, span_id: spanId }),
    async handle({ trace_id, span_id }, { access }) {
      const span = await functions.spansFor(access).span(trace_id, span_id);
      return span === undefined ? null : storedSpan(span);
    },
  });
  context.provideFunction({
    id: "engine::traces::compare",
    summary: "Compare two traces: spans that were added, removed, or took longer",
    input: () => z.object({ a: traceId, b: traceId }),
    async handle({ a, b }, { access }) {
      const store = functions.spansFor(access);
      const [left, right] = await Promise.all([requireSpans(store, a), requireSpans(store, b)]);
      const { rows, truncated } = compareTraces(left, right);
      return {
        ...{ rows, a: summaryOf(left), b: summaryOf(right) },
        ...(truncated ? { truncated } : {}),
        ...mergedFrom(store.asked),
      };
    },
  });
}

async function requireSpans(store: SpanReader, id: string): Promise<readonly SpanRecord[]> {
  const spans = await store.spansOf(id);
  if (spans.length === 0) throw new CallError("NOT_FOUND", `Trace '${id}' not found; it may have been evicted`);
  return spans;
}

function summaryOf(spans: readonly SpanRecord[]) {
  const facts = factsOf(spans);
  return facts === undefined ? null : traceSummary(facts);
}

function treePage(
  spans: readonly SpanRecord[],
  query: {
    readonly root_span_id?: string | undefined;
    readonly max_depth?: number | undefined;
    readonly limit: number;
    readonly cursor?: string | undefined;
  },
) {
  const forest = buildSpanForest(spans);
  const top = query.root_span_id === undefined ? forest.roots : subtree(forest.roots, query.root_span_id);
  const nodes = [...preorder(top)]
    .filter(({ depth }) => depth <= (query.max_depth ?? Number.POSITIVE_INFINITY))
    .map(({ node }) => node);
  const { page, next } = pageAfter(nodes, {
    kind: "tree",
    cursor: query.cursor,
    limit: query.limit,
    idOf: ({ span }) => span.spanId,
  });
  return {
    roots: buildTrees(page),
    span_count: spans.length,
    returned: page.length,
    cursor: next,
    partial: forest.orphans.length > 0 || spans.length >= MAX_READ_SPANS,
    services: servicesOf(spans),
    orphans: forest.orphans.slice(0, 1_000),
  };
}

function subtree(roots: readonly SpanNode[], id: string): readonly SpanNode[] {
  for (const { node } of preorder(roots)) if (node.span.spanId === id) return [node];
  return [];
}

/**
 * Maximum nesting of spans in a result. Deeper spans are listed as roots. Each level takes two levels of JSON, and a
 * payload may have 136 levels of JSON (`MAX_PAYLOAD_DEPTH`).
 */
const MAX_NESTING = 40;

/** Builds trees from the spans of a page. In the page, parents come before their children. */
function buildTrees(page: readonly SpanNode[]): TreeSpan[] {
  const roots: TreeSpan[] = [];
  const parents = new Map<SpanNode, { readonly tree: TreeSpan; readonly level: number }>();
  for (const node of page) {
    const tree: TreeSpan = { ...storedSpan(node.span), children: [], child_count: node.children.length };
    const parent = parents.get(node);
    const level = parent === undefined || parent.level >= MAX_NESTING ? 1 : parent.level + 1;
    if (parent === undefined || level === 1) roots.push(tree);
    else parent.tree.children.push(tree);
    for (const child of node.children) parents.set(child, { tree, level });
  }
  return roots;
}

function pageAfter<T>(
  all: readonly T[],
  {
    kind,
    cursor,
    limit,
    idOf,
  }: {
    readonly kind: string;
    readonly cursor: string | undefined;
    readonly limit: number;
    readonly idOf: (one: T) => string;
  },
): { readonly page: readonly T[]; readonly next: string | null } {
  let from = 0;
  if (cursor !== undefined) {
    const [last] = readCursor(kind, cursor, spanCursor);
    from = all.findIndex((one) => idOf(one) === last) + 1;
    if (from === 0)
      throw new CallError("invalid_input", "`cursor`: its span is no longer stored; start again from the first page");
  }
  const page = all.slice(from, from + limit);
  const last = page.at(-1);
  return {
    page,
    next: last === undefined || from + page.length >= all.length ? null : writeCursor(kind, [idOf(last)]),
  };
}

/**
 * Returns a matcher for spans in which each word occurs in the name, service, id, error or an attribute (`key=value`).
 */
function textMatcher(text: string): (span: SpanRecord) => boolean {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return (span) => {
    const texts = textsOf(span);
    return words.every((word) => texts.some((one) => one.includes(word)));
  };
}

function textsOf({ name, resource, spanId, statusDescription = "", attributes }: SpanRecord): readonly string[] {
  const own = Object.entries(attributes).map(([key, value]) =>
    value === undefined ? "" : `${key}=${textOfValue(value)}`,
  );
  return [name, resource.service, spanId, statusDescription, ...own].map((one) => one.toLowerCase());
}
