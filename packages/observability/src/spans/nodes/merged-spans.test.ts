import type { NodeQuestions } from "@svc-runtime/engine/module";
import {
  accessTo,
  type InMemoryCluster,
  type InMemoryEngine,
  type InMemoryWorker,
  manualClock,
} from "@svc-runtime/engine/testing";
import { Payload } from "@svc-runtime/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import { pageStartOf } from "../../query/node-positions.ts";
import { killedAndGone, telemetryCluster } from "../../testing/telemetry-cluster.ts";
import { allTraces } from "../span-store.ts";
import type { TraceListRequest } from "../trace-query.ts";
import { MergedSpans } from "./merged-spans.ts";
import type { Question } from "./span-questions.ts";

let cluster: InMemoryCluster;
let engines: readonly InMemoryEngine[];
let a: InMemoryEngine;
let b: InMemoryEngine;
let c: InMemoryEngine;
let client: InMemoryWorker;

interface List {
  readonly spans: readonly { readonly name: string; readonly trace: Record<string, unknown> }[];
  readonly total: number;
  readonly cursor: string | null;
  readonly missing?: readonly string[];
}

const ask = async (engine: InMemoryEngine, id: string, payload: object = {}): Promise<Record<string, unknown>> =>
  (await engine.call(`engine::traces::${id}`, payload)) as Record<string, unknown>;
const list = async (engine: InMemoryEngine, payload: object = {}): Promise<List> =>
  (await ask(engine, "list", payload)) as unknown as List;
const namesIn = ({ spans }: List): unknown[] => spans.map(({ trace }) => trace.root_name);

/** `front::page` at `a` calls `greet` at `b`, and `c` has a client. */
beforeEach(async () => {
  const started = await telemetryCluster();
  ({ cluster, engines } = started);
  [a, b, c] = started.engines;
  const front = await a.connectWorker({ name: "front" });
  front.serve("front::page", async (data, { traceparent }) => {
    await cluster.advance(5);
    return (await front.call("greet", data, { traceparent })).result;
  });
  (await b.connectWorker({ name: "greeter" })).serve("greet", () => "hello");
  client = await c.connectWorker({ name: "client" });
  await cluster.exchange();
});
afterEach(() => cluster.stop());

/** Makes `count` traces at each node, each with one span, in turn and one millisecond apart. */
async function traceEverywhere(count: number): Promise<string[]> {
  const workers = [];
  for (const [index, engine] of engines.entries()) {
    const worker = await engine.connectWorker({ name: `worker ${index}` });
    for (let at = 0; at < count; at += 1) worker.serve(`work-${at}-${index}`, () => null);
    workers.push(worker);
  }
  const names = [];
  for (let at = 0; at < count; at += 1)
    for (const [index, worker] of workers.entries()) {
      await cluster.advance(1);
      await worker.call(`work-${at}-${index}`, null);
      names.push(`work-${at}-${index}`);
    }
  return names;
}

it("shows a trace whose spans are at two engines as one, whichever engine is asked", async () => {
  await client.call("front::page", {});
  for (const engine of engines) {
    const { spans, total, missing } = await list(engine);
    expect(spans).toHaveLength(1);
    expect({ total, missing }).toEqual({ total: 1, missing: undefined });
    expect(spans[0]).toMatchObject({
      name: "front::page",
      trace: {
        root_name: "front::page",
        span_count: 2,
        nodes: ["a", "b"],
        services: ["front", "greeter"],
        partial: false,
      },
    });
    const trace_id = spans[0]?.trace.trace_id;
    expect(await ask(engine, "spans", { trace_id, detail: "lean" })).toMatchObject({
      spans: [
        { name: "front::page", node: "a" },
        { name: "greet", node: "b" },
      ],
      total: 2,
      nodes: ["a", "b", "c"],
    });
    expect(await ask(engine, "tree", { trace_id })).toMatchObject({
      roots: [{ name: "front::page", children: [{ name: "greet", resource: { "svc.node": "b" } }] }],
      partial: false,
    });
    const { facets, total: counted } = await ask(engine, "facets");
    expect({ facets, counted }).toMatchObject({
      facets: {
        function_id: [
          { value: "front::page", count: 1 },
          { value: "greet", count: 1 },
        ],
      },
      counted: 1,
    });
    expect(await ask(engine, "histogram")).toMatchObject({ total: 1 });
  }
});

it("finds a trace by filters that match spans at different engines", async () => {
  await client.call("front::page", {});
  const counts = async (payload: object): Promise<number> => {
    const [{ total }, { total: ofFacets }] = [await list(c, payload), await ask(c, "facets", payload)];
    expect(ofFacets).toBe(total);
    return total;
  };
  expect(await counts({ function_id: "greet" })).toBe(1);
  expect(await counts({ query: "function:greet and service:front" })).toBe(1);
  expect(await counts({ query: "function:greet and name:front::page and node:b" })).toBe(1);
  expect(await counts({ query: "node:a" })).toBe(1);
  expect(await counts({ query: "node:c" })).toBe(0);
  expect(await counts({ query: "not node:b" })).toBe(0);
  expect(await counts({ query: "function:greet and not service:front" })).toBe(0);
  expect(await counts({ query: "duration>1ms" })).toBe(1);
  expect(await counts({ query: "duration>1h" })).toBe(0);
  expect(await counts({ name: "greet" })).toBe(0);
  expect(await counts({ name: "greet", search_all_spans: true })).toBe(1);
});

it("lists the traces of all engines page by page in order, each once", async () => {
  const names = await traceEverywhere(4);
  await cluster.advance(1);
  await client.call("front::page", {});
  for (const sort_order of ["asc", "desc"] as const) {
    const pages: unknown[][] = [];
    let cursor: string | null = null;
    do {
      const page: List = await list(b, { sort_order, limit: 5, ...(cursor === null ? {} : { cursor }) });
      expect(page.total).toBe(13);
      pages.push(namesIn(page));
      cursor = page.cursor;
    } while (cursor !== null);
    const wanted = [...names, "front::page"];
    expect(pages.flat()).toEqual(sort_order === "asc" ? wanted : wanted.toReversed());
    expect(pages.slice(0, 2).map(({ length }) => length)).toEqual([5, 5]);
  }
  expect(namesIn(await list(a, { sort_order: "asc", offset: 4, limit: 3 }))).toEqual(names.slice(4, 7));
  expect(namesIn(await list(a, { sort_by: "name", sort_order: "asc" }))).toEqual(["front::page", ...names.toSorted()]);
  await expect(ask(a, "list", { offset: 10_001 })).rejects.toMatchObject({ code: "invalid_input" });
});

it("names an engine that is gone", async () => {
  await traceEverywhere(1);
  await killedAndGone(cluster, c);
  const { spans, total, missing } = await list(a, { limit: 10 });
  expect({ spans: spans.length, total, missing }).toEqual({ spans: 2, total: 2, missing: ["c"] });
  expect(await ask(a, "facets")).toMatchObject({ total: 2, nodes: ["a", "b"], missing: ["c"] });
});

it("shows a restricted reader what it may see of the spans of its own engine", async () => {
  await client.call("front::page", {});
  const listedAt = async (engine: InMemoryEngine): Promise<List> => {
    const reader = await engine.connectWorker({ access: accessTo(['match("engine::*")', "front::page", "greet"]) });
    return (await reader.call("engine::traces::list", {})).result as List;
  };
  const atA = await listedAt(a);
  expect(atA.spans).toMatchObject([{ name: "front::page", trace: { span_count: 1 } }]);
  expect(atA).not.toHaveProperty("nodes");
  expect((await listedAt(b)).spans).toMatchObject([{ name: "greet", trace: { span_count: 1 } }]);
  expect((await listedAt(c)).spans).toEqual([]);
});

type PageQuestion = Extract<Question, { readonly what: "page" }>;

/** Returns an answer with one trace. */
function pageOf(id: number, isLast: boolean): object {
  const at = [id, String(id)];
  return { rows: [{ facts: factsOf(String(id)), at }], next: isLast ? null : at };
}

function factsOf(traceId: string): object {
  return {
    ...{ traceId, rootSpanId: "1", partial: false, rootStartUs: 1, rootEndUs: 2, rootStatus: "ok", rootName: "work" },
    ...{ service: "a", services: ["a"], internal: false, functionStartUs: 1, functions: [], startUs: 1, endUs: 2 },
    ...{ spanCount: 1, errorCount: 0, errorEndsUs: [], pendingCount: 0 },
  };
}

/** Engine `b` does not answer if there is no answer of it. Each page takes 400 ms. */
function slowNodes(answersTo: (question: PageQuestion) => { readonly a: object; readonly b?: object }): MergedSpans {
  const clock = manualClock();
  const answersOf = (question: Question): Record<string, object> => {
    if (question.what === "parts") {
      const parts = question.ids.map((id) => ({ facts: factsOf(id), matches: true, spans: [] }));
      return { a: { parts, done: parts.length } };
    }
    if (question.what !== "page") throw new TypeError(question.what);
    clock.advance(400);
    return { ...answersTo(question) };
  };
  const nodes: NodeQuestions = {
    name: "a",
    clockState: () => "right",
    answer: () => () => {},
    async ask(_topic, payload, { without } = {}) {
      const question = payload.value() as Question;
      const answers = Object.entries(answersOf(question));
      const isMissing = question.what === "page" && answers.length === 1 && without?.has("b") !== true;
      return {
        answers: answers.map(([node, answer]) => ({ node, answer: Payload.fromValue(answer) })),
        ...{ missing: isMissing ? ["b"] : [], gone: [], problems: new Map<string, string>() },
      };
    },
  };
  return new MergedSpans(nodes, "memory", clock);
}

/** Engine `a` has traces from 1 on and answers with one at a time. */
function slowNode(count: number): MergedSpans {
  return slowNodes(({ starts }) => {
    const start = pageStartOf(starts, "a");
    const next = start === "start" ? 1 : Number(start[0]) + 1;
    return { a: pageOf(next, next === count) };
  });
}

const firstPage: TraceListRequest = {
  filters: { include_internal: true, search_all_spans: false, with_errors: false },
  ...{ sortBy: "start_time", descending: false, after: undefined, offset: 0, limit: 3, spans: "none" },
  isUncounted: true,
};

it("leaves out the rest of an offset on the next page if the time was over before", async () => {
  const first = await slowNode(99).list({ ...firstPage, limit: 2, offset: 10 });
  expect(first.rows).toEqual([]);
  const next = await slowNode(99).list({ ...firstPage, limit: 2, after: first.next });
  expect(next.rows.map(({ facts }) => facts.traceId)).toEqual(["11", "12"]);
});

it("does not call a total exact without the traces of an engine that did not answer", async () => {
  const page = await slowNode(2).list(firstPage);
  expect(page).toMatchObject({ total: 2, totalIsExact: false, next: undefined });
});

it("ends reading all traces when an engine that had more is not asked again", async () => {
  const answers = [{ a: pageOf(9, false), b: pageOf(5, false) }, { a: pageOf(8, true) }];
  const merged = slowNodes(() => answers.shift() ?? { a: { rows: [], next: null } });
  const found: string[] = [];
  for await (const { facts } of allTraces(merged, firstPage.filters, "none")) found.push(facts.traceId);
  expect([found, merged.asked.missing]).toEqual([["9", "8"], ["b"]]);
});
