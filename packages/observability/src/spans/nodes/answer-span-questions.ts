import type { NodeQuestions } from "@svc-runtime/engine/module";
import { Payload } from "@svc-runtime/protocol";
import { AnswerTexts } from "../../query/ask-nodes.ts";
import { type PageStart, type Position, pageStartOf } from "../../query/node-positions.ts";
import { SPAN_QUESTIONS } from "../../query/topics.ts";
import { writeSpan } from "../disk/span-json.ts";
import { allTraces, type SpanStore, sortValueOf, type TraceRow } from "../span-store.ts";
import type { TraceFacts } from "../trace-facts.ts";
import type { TracePosition } from "../trace-query.ts";
import { type Question, questionSchema } from "./span-questions.ts";

/** Number of traces that are read in one step, by the spans that the question asks for. */
const STEP = { none: 1_000, root: 250, all: 50 } as const;

/** Maximum size of the spans that are sent for one trace, if the answer is about several traces, in bytes. */
const MAX_PART_BYTES = 1024 * 1024;

type QuestionOf<What extends Question["what"]> = Extract<Question, { readonly what: What }>;

/** Answers questions of other nodes about the spans of this node. Without a store, the answer is null. */
export function answerSpanQuestions(nodes: NodeQuestions, store: SpanStore | undefined): void {
  nodes.answer(SPAN_QUESTIONS, async (payload) => {
    if (store === undefined) return Payload.null;
    const question = questionSchema.parse(payload.value());
    return Payload.fromText(await answerTo(question, store, nodes.name));
  });
}

function answerTo(question: Question, store: SpanStore, name: string): Promise<string> {
  switch (question.what) {
    case "page":
      return pageOf(question, store, name);
    case "scan":
      return scanned(question, store);
    case "parts":
      return partsOf(question, store);
    case "spans":
      return spansOf(question, store, name);
    case "span":
      return spanOf(question, store);
  }
}

async function pageOf(
  { filters, sort_by: sortBy, descending, starts, limit }: QuestionOf<"page">,
  store: SpanStore,
  name: string,
): Promise<string> {
  const start = pageStartOf(starts, name);
  if (start === "end") return `{"rows":[],"next":null}`;
  const page = await store.list({
    ...{ filters, sortBy, descending, limit, offset: 0, spans: "none" },
    after: positionOf(start),
  });
  const texts = new AnswerTexts();
  let next = page.next === undefined ? null : ([page.next.value, page.next.tie] as const);
  let last: Position | undefined;
  for (const row of page.rows) {
    const at: Position = [sortValueOf(row.facts, sortBy), row.tie ?? row.facts.traceId];
    if (!texts.add(`{"facts":${factsText(row.facts)},"at":${JSON.stringify(at)}}`)) {
      next = last ?? null;
      break;
    }
    last = at;
  }
  return `{"rows":${texts.json},"next":${JSON.stringify(next)}}`;
}

function positionOf(start: PageStart): TracePosition | undefined {
  return typeof start === "string" ? undefined : { value: start[0], tie: start[1] };
}

async function scanned({ filters, max }: QuestionOf<"scan">, store: SpanStore): Promise<string> {
  const texts = new AnswerTexts();
  let fits = true;
  const exact = await store.scan({ filters, spans: "none", max }, ({ facts }) => {
    fits = fits && texts.add(factsText(facts));
  });
  const rows = texts.json;
  return `{"rows":${rows},"exact":${exact && fits}}`;
}

async function partsOf({ filters, ids, spans }: QuestionOf<"parts">, store: SpanStore): Promise<string> {
  const texts = new AnswerTexts();
  let done = 0;
  for (let isFull = false; done < ids.length && !isFull; ) {
    const some = ids.slice(done, done + STEP[spans]);
    const matching = new Set<string>();
    const ofSome = { ...filters, trace_ids: some };
    for await (const { facts } of allTraces(store, ofSome, "none")) matching.add(facts.traceId);
    const rows = new Map<string, TraceRow>();
    for await (const row of allTraces(store, { ...ANY, trace_ids: some }, spans)) rows.set(row.facts.traceId, row);
    for (const id of some) {
      const row = rows.get(id);
      if (row !== undefined && !texts.add(partText(row, matching.has(id)))) {
        isFull = true;
        break;
      }
      done += 1;
    }
  }
  return `{"parts":${texts.json},"done":${done}}`;
}

const ANY = { include_internal: true, search_all_spans: false, with_errors: false };

/**
 * Returns the part of a trace at this node, with as many spans as fit. So of a trace with large spans, only some are
 * sent.
 */
function partText({ facts, spans }: TraceRow, matches: boolean): string {
  const texts = new AnswerTexts(MAX_PART_BYTES);
  for (const span of spans) if (!texts.add(writeSpan(span))) break;
  return `{"facts":${factsText(facts)},"matches":${matches},"spans":${texts.json}}`;
}

async function spansOf({ trace_id, from }: QuestionOf<"spans">, store: SpanStore, name: string): Promise<string> {
  const spans = await store.spansOf(trace_id);
  const texts = new AnswerTexts();
  const first = Object.hasOwn(from, name) ? (from[name] ?? 0) : 0;
  for (const span of spans.slice(first)) if (!texts.add(writeSpan(span))) break;
  return `{"spans":${texts.json},"more":${first + texts.count < spans.length}}`;
}

async function spanOf({ trace_id, span_id }: QuestionOf<"span">, store: SpanStore): Promise<string> {
  const span = await store.span(trace_id, span_id);
  return `{"span":${span === undefined ? "null" : writeSpan(span)}}`;
}

function factsText(facts: TraceFacts): string {
  return JSON.stringify(facts);
}
