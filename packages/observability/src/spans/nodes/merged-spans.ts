import type { ModuleContext, NodeQuestions } from "@svc-runtime/engine/module";
import { CallError } from "@svc-runtime/protocol";
import { AskedNodes, checkOffset } from "../../query/ask-nodes.ts";
import { NodePositions, type PageOfNode, type RowOfNode } from "../../query/node-positions.ts";
import { SPAN_QUESTIONS } from "../../query/topics.ts";
import type { SpanRecord } from "../../telemetry-records.ts";
import { spanOfJson } from "../disk/span-json.ts";
import {
  bySpanStart,
  MAX_LISTED_SPANS,
  MAX_READ_SPANS,
  type SpanReader,
  type SpanStore,
  type TracePage,
  type TraceRow,
  type TraceScan,
} from "../span-store.ts";
import type { TraceFacts } from "../trace-facts.ts";
import { needsSpans, type TraceMatcher, traceMatcher } from "../trace-match.ts";
import type { TraceFilters, TraceListRequest } from "../trace-query.ts";
import { candidateFilters } from "./candidates.ts";
import { type FactsOfNode, leadingPart, mergeFacts } from "./merge-facts.ts";
import { MAX_COUNTED_OF_NODE, pageSchema, partsSchema, scanSchema, spanSchema, spansSchema } from "./span-questions.ts";

/** Maximum number of pages that one request fetches from each node. The client's next request continues after them. */
const MAX_PAGES = 10;
/**
 * Maximum number of questions for one object: for the spans of one trace, or for the parts of the traces of one page.
 */
const MAX_QUESTIONS = 20;
const MAX_PAGE = 1_000;

interface Row extends RowOfNode {
  readonly facts: TraceFacts;
}

interface Part extends FactsOfNode {
  /** True if the part matches the filters with which it was found. */
  readonly matches: boolean;
  readonly spans: readonly SpanRecord[];
}

/**
 * The spans of all nodes of the cluster, as one store. If a trace has spans at several nodes, it is one trace. Its
 * position in a list is that of its part with the root span, or of the part that began first if there is no root span.
 * An object is used for one request.
 */
export class MergedSpans implements SpanReader {
  readonly storage: SpanStore["storage"];
  readonly asked: AskedNodes;

  constructor(nodes: NodeQuestions, storage: SpanStore["storage"], clock: ModuleContext<unknown>["clock"]) {
    this.storage = storage;
    this.asked = new AskedNodes(nodes, SPAN_QUESTIONS, clock);
  }

  async list(request: TraceListRequest): Promise<TracePage> {
    const { filters, limit, spans } = request;
    const select = selectorOf(filters, spans);
    const positions = NodePositions.from(cursorIn(request), { skip: request.offset });
    const offset = positions.skip;
    checkOffset(offset);
    // Nodes that were silent before this question. They are not asked again.
    const silentBefore = this.asked.silent;
    const rows: TraceRow[] = [];
    let skipped = 0;
    for (let page = 0; this.#mayGoOn(page) && !positions.nobodyHasMore && rows.length < limit; page += 1) {
      const wanted = Math.min(MAX_PAGE, limit + offset - skipped - rows.length);
      const pages = await this.#pages(request, positions, wanted);
      if (pages.length === 0) throw noAnswer();
      const found = positions.merge(pages, request.descending);
      const parts = await this.#parts(
        filters,
        [...new Set(found.rows.map(({ facts }) => facts.traceId))],
        select.needs,
      );
      let taken = 0;
      for (const row of found.rows) {
        const ofTrace = parts.get(row.facts.traceId);
        if (ofTrace === undefined || rows.length >= limit) break;
        taken += 1;
        // A trace is found once for each of its parts, but listed once: at the position of its leading part.
        if (leadingPart(ofTrace.filter(({ matches }) => matches))?.node !== row.node) continue;
        const trace = select.row(ofTrace);
        if (trace === undefined) continue;
        if (skipped < offset) skipped += 1;
        else rows.push(trace);
      }
      positions.advance(found, taken);
      if (taken === 0 && found.rows.length > 0 && page === 0) throw noAnswer();
    }
    const isEnd = positions.isEnd([...this.asked.silent].filter((node) => !silentBefore.has(node)));
    return {
      rows,
      ...(await this.#total(request, skipped + rows.length, isEnd)),
      next: isEnd ? undefined : { value: SEVERAL, tie: positions.next(offset - skipped) },
    };
  }

  async scan({ filters, spans, max }: TraceScan, onRow: (row: TraceRow) => void): Promise<boolean> {
    if (this.asked.isOver) return false;
    const select = selectorOf(filters, spans);
    const question = { what: "scan", filters: candidateFilters(filters), max: Math.min(max, MAX_COUNTED_OF_NODE) };
    const answers = await this.asked.ask(question, scanSchema);
    let exact = answers.every(({ answer }) => answer.exact);
    const starts = new Map<string, number>();
    for (const { answer } of answers)
      for (const { traceId, startUs } of answer.rows)
        starts.set(traceId, Math.min(startUs, starts.get(traceId) ?? startUs));
    const ids = [...starts].sort(([, one], [, other]) => other - one).map(([id]) => id);
    let count = 0;
    // Reads the traces in steps, because their spans may be large.
    for (let from = 0; from < ids.length; from += MAX_PAGE) {
      const some = ids.slice(from, from + MAX_PAGE);
      const parts = await this.#parts(filters, some, select.needs);
      exact &&= parts.size === some.length;
      for (const ofTrace of parts.values()) {
        const row = select.row(ofTrace);
        if (row === undefined) continue;
        if (count >= max) return false;
        count += 1;
        onRow(row);
      }
    }
    return exact;
  }

  async spansOf(traceId: string): Promise<readonly SpanRecord[]> {
    const spans = new Map<string, SpanRecord>();
    const from: Record<string, number> = Object.create(null);
    for (let count = 0; count < MAX_QUESTIONS && spans.size < MAX_READ_SPANS; count += 1) {
      const answers = await this.asked.ask({ what: "spans", trace_id: traceId, from }, spansSchema);
      for (const { node, answer } of answers) {
        from[node] = (from[node] ?? 0) + answer.spans.length;
        for (const json of answer.spans) {
          const before = spans.get(json.spanId);
          const span = spanOfJson(json, 0);
          if (before === undefined || isTrusted(span, before)) spans.set(span.spanId, span);
        }
      }
      if (!answers.some(({ answer }) => answer.more)) break;
    }
    return [...spans.values()].sort(bySpanStart).slice(0, MAX_READ_SPANS);
  }

  async span(traceId: string, spanId: string): Promise<SpanRecord | undefined> {
    const answers = await this.asked.ask({ what: "span", trace_id: traceId, span_id: spanId }, spanSchema);
    const found = answers.flatMap(({ answer }) => (answer.span === null ? [] : spanOfJson(answer.span, 0)));
    return found.find(({ resource }) => resource.restrictedTo === undefined) ?? found[0];
  }

  /** Returns whether another page may be fetched now. If not, the client's next request continues at this position. */
  #mayGoOn(page: number): boolean {
    return page === 0 || (page < MAX_PAGES && !this.asked.isOver);
  }

  async #pages(
    { filters, sortBy, descending }: TraceListRequest,
    positions: NodePositions,
    limit: number,
  ): Promise<PageOfNode<Row>[]> {
    const question = {
      ...{ what: "page", filters: candidateFilters(filters), sort_by: sortBy, descending, limit },
      starts: positions.starts,
    };
    const answers = await this.asked.ask(question, pageSchema);
    return answers.map(({ node, answer }) => ({
      node,
      rows: answer.rows.map((row) => ({ node, ...row })),
      next: answer.next ?? undefined,
    }));
  }

  /** Returns the parts of the traces at all nodes. If there is not enough time, the last traces are left out. */
  async #parts(
    filters: TraceFilters,
    ids: readonly string[],
    spans: TraceListRequest["spans"],
  ): Promise<Map<string, [Part, ...Part[]]>> {
    const found = new Map<string, [Part, ...Part[]]>();
    let left = ids;
    for (let count = 0; count < MAX_QUESTIONS && left.length > 0 && !this.asked.isOver; count += 1) {
      const question = { what: "parts", filters: candidateFilters(filters), ids: left, spans };
      const answers = await this.asked.ask(question, partsSchema);
      const done = Math.min(...answers.map(({ answer }) => answer.done));
      if (answers.length === 0 || done === 0) break;
      const ofQuestion = new Set(left.slice(0, done));
      for (const { node, answer } of answers)
        for (const { facts, matches, spans: jsons } of answer.parts) {
          if (!ofQuestion.has(facts.traceId)) continue;
          const part: Part = { node, facts, matches, spans: jsons.map((json) => spanOfJson(json, 0)) };
          const others = found.get(facts.traceId);
          if (others === undefined) found.set(facts.traceId, [part]);
          else others.push(part);
        }
      left = left.slice(done);
    }
    return found;
  }

  async #total(
    request: TraceListRequest,
    listed: number,
    isEnd: boolean,
  ): Promise<Pick<TracePage, "total" | "totalIsExact">> {
    const isWhole = (): boolean => this.asked.missing.length === 0;
    if (isEnd && request.after === undefined) return { total: listed, totalIsExact: isWhole() };
    if (request.isUncounted === true) return { total: listed, totalIsExact: false };
    let total = 0;
    const exact = await this.scan({ filters: request.filters, spans: "none", max: Number.POSITIVE_INFINITY }, () => {
      total += 1;
    });
    return { total: Math.max(total, listed), totalIsExact: exact && isWhole() };
  }
}

/**
 * Returns true if `span` must replace `before`. A restricted sender may have sent `before` with the id of `span`, to an
 * engine that does not have `span`.
 */
function isTrusted(span: SpanRecord, before: SpanRecord): boolean {
  return before.resource.restrictedTo !== undefined && span.resource.restrictedTo === undefined;
}

function noAnswer(): CallError {
  return new CallError("timeout", "no engine of the cluster answered in time about its traces; try again");
}

/** Sort value in the position of a list from several nodes. It marks such a position. */
const SEVERAL = "nodes";

/**
 * Returns the cursor in a position. Returns an empty text, which is rejected later, if the position is not from a list
 * of several nodes.
 */
function cursorIn({ after }: TraceListRequest): string | undefined {
  if (after === undefined) return undefined;
  return after.value === SEVERAL ? String(after.tie) : "";
}

interface TraceSelector {
  /** The spans of each part that the selector needs. */
  readonly needs: TraceListRequest["spans"];
  /** Returns the whole trace if it matches the filters. */
  row(parts: readonly [Part, ...Part[]]): TraceRow | undefined;
}

function selectorOf(filters: TraceFilters, spans: TraceListRequest["spans"]): TraceSelector {
  const matches: TraceMatcher = traceMatcher(filters);
  return {
    needs: needsSpans(filters) ? "all" : spans,
    row(parts) {
      const facts = mergeFacts(parts);
      const all = parts.flatMap((part) => part.spans).sort(bySpanStart);
      return matches(facts, () => all) ? { facts, spans: spansAsked(spans, all, facts) } : undefined;
    },
  };
}

function spansAsked(
  wanted: TraceListRequest["spans"],
  spans: readonly SpanRecord[],
  { rootSpanId }: TraceFacts,
): readonly SpanRecord[] {
  if (wanted === "none") return [];
  return wanted === "all" ? spans.slice(0, MAX_LISTED_SPANS) : spans.filter(({ spanId }) => spanId === rootSpanId);
}
