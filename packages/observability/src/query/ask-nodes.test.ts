import { defineModule, type ModuleContext, type NodeQuestions } from "@svc-runtime/engine/module";
import { InMemoryCluster, type InMemoryEngine, type ManualClock, manualClock } from "@svc-runtime/engine/testing";
import { Payload } from "@svc-runtime/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { MergedLogs } from "../logs/nodes/merged-logs.ts";
import { AskedNodes } from "./ask-nodes.ts";
import { pageStartOf, pageStartsSchema } from "./node-positions.ts";
import { LOG_QUESTIONS } from "./topics.ts";

const TOPIC = "test";
let cluster: InMemoryCluster;
let contexts: Map<string, ModuleContext<unknown>>;
let engines: Map<string, InMemoryEngine>;

beforeEach(async () => {
  cluster = new InMemoryCluster();
  contexts = new Map();
  engines = new Map();
  for (const name of ["a", "b", "c"]) {
    const asking = defineModule({
      ...{ name: "asking", summary: "a test", config: z.unknown() },
      start(context) {
        contexts.set(name, context);
        return { stop() {} };
      },
    });
    engines.set(name, await cluster.start(name, { modules: [asking] }));
  }
});
afterEach(() => cluster.stop());

function contextOf(name: string): ModuleContext<unknown> & { readonly nodes: NodeQuestions } {
  const context = contexts.get(name);
  if (context?.nodes === undefined) throw new Error(`${name} is in no cluster`);
  return { ...context, nodes: context.nodes };
}

/** Each engine answers after a time, or never. */
function answerAfter(times: Readonly<Record<string, number>>): AskedNodes {
  for (const [name, ms] of Object.entries(times)) {
    const { nodes, clock } = contextOf(name);
    nodes.answer(TOPIC, () => new Promise((resolve) => clock.after(ms, () => resolve(Payload.fromValue(name)))));
  }
  const { nodes, clock } = contextOf("a");
  return new AskedNodes(nodes, TOPIC, clock);
}

/** Asks, and resolves with the engines that have answered within this time. */
async function askedWithin(asked: AskedNodes, ms: number): Promise<readonly string[] | undefined> {
  let found: readonly string[] | undefined;
  const asking = asked.ask({}, z.string()).then((answers) => {
    found = answers.map(({ node }) => node);
  });
  await cluster.advance(ms);
  const inTime = found;
  await cluster.advance(1_000);
  await asking;
  return inTime;
}

it("a node that does not answer one question of a request is not waited for again, and is named", async () => {
  const asked = answerAfter({ a: 0, b: 0, c: 5_000 });
  expect(await askedWithin(asked, 600)).toEqual(["a", "b"]);
  expect(await askedWithin(asked, 300)).toEqual(["a", "b"]);
  expect([asked.answered, asked.missing]).toEqual([["a", "b"], ["c"]]);
});

it("all questions of a request have one deadline; then no node answers in time", async () => {
  const asked = answerAfter({ a: 0, b: 0, c: 300 });
  expect(await askedWithin(asked, 400)).toEqual(["a", "b", "c"]);
  expect(await askedWithin(asked, 400)).toEqual(["a", "b", "c"]);
  expect([asked.isOver, asked.missing]).toEqual([true, []]);
  expect(await askedWithin(asked, 100)).toEqual([]);
  expect([asked.answered, asked.missing]).toEqual([[], ["a", "b", "c"]]);
});

/** Engine `a`, alone, has entries from 1 on, answers with one at a time, and takes 400 ms for it. */
function slowNode(): { readonly nodes: NodeQuestions; readonly clock: ManualClock; readonly asked: () => number } {
  const clock = manualClock();
  let asked = 0;
  const nodes: NodeQuestions = {
    name: "a",
    clockState: () => "right",
    answer: () => () => {},
    async ask() {
      asked += 1;
      clock.advance(400);
      const at = [String(asked).padStart(20, "0"), asked];
      const page = { rows: [{ log: { id: String(asked) }, at }], next: at, counted: { total: 99, whole: true } };
      return {
        ...{ answers: [{ node: "a", answer: Payload.fromValue(page) }], missing: [], gone: [] },
        problems: new Map<string, string>(),
      };
    },
  };
  return { nodes, clock, asked: () => asked };
}

it("a list whose time is over continues on the next page", async () => {
  const { nodes, clock, asked } = slowNode();
  const merged = new MergedLogs(nodes, clock);
  const { logs, cursor } = await merged.list({ limit: 100, sort_order: "asc" });
  expect(logs).toHaveLength(asked());
  // The last one begins 500 ms before the time is over.
  expect(asked()).toBe(7);
  expect(cursor).not.toBeNull();
  expect(merged.from).toEqual({ nodes: ["a"] });
});

it("a list whose time is over before its offset leaves out the rest of it on the next page", async () => {
  const { nodes, clock } = slowNode();
  const first = await new MergedLogs(nodes, clock).list({ offset: 10, limit: 3, sort_order: "asc" });
  expect(first.logs).toEqual([]);
  const next = await new MergedLogs(nodes, clock).list({ cursor: first.cursor, limit: 3, sort_order: "asc" });
  expect(next.logs.map(({ id }) => id)).toEqual(["11@a", "12@a", "13@a"]);
});

/** Each engine has these entries, answers with one at a time, and does not answer the questions in `silent`, from 1 on. */
function serveLogs(
  entries: Readonly<Record<string, readonly number[]>>,
  silent: (node: string, at: number) => boolean,
) {
  for (const [name, all] of Object.entries(entries)) {
    let asked = 0;
    contextOf(name).nodes.answer(LOG_QUESTIONS, (question) => {
      asked += 1;
      if (silent(name, asked)) return new Promise(() => {});
      const start = pageStartOf(z.object({ starts: pageStartsSchema }).parse(question.value()).starts, name);
      const after = start === "start" ? 0 : start === "end" ? Number.POSITIVE_INFINITY : Number(start[0]);
      const [first, ...others] = all.filter((entry) => entry > after);
      const at = [String(first).padStart(20, "0"), first];
      return Payload.fromValue({
        rows: first === undefined ? [] : [{ log: { id: String(first) }, at }],
        next: others.length === 0 ? null : at,
        counted: { total: all.length, whole: true },
      });
    });
  }
}

async function listLogs(cursor: string | null) {
  const { nodes, clock } = contextOf("a");
  const merged = new MergedLogs(nodes, clock);
  const listing = merged.list({ limit: 10, sort_order: "asc", cursor }).then(
    ({ logs, cursor }) => ({ ids: logs.map(({ id }) => id), cursor, from: merged.from }),
    (error: unknown) => ({ ids: [], cursor: null, error }),
  );
  await cluster.advance(1_000);
  return listing;
}

it("a list goes on with the entries of an engine that did not answer once", async () => {
  serveLogs({ a: [1, 4], b: [2, 3, 5], c: [] }, (node, at) => node === "b" && at === 2);
  const first = await listLogs(null);
  expect(first).toMatchObject({ ids: ["1@a", "4@a"], cursor: expect.any(String), from: { missing: ["b"] } });
  expect(await listLogs(first.cursor)).toEqual({
    ...{ ids: ["2@b", "3@b", "5@b"], cursor: null },
    from: { nodes: ["a", "b", "c"] },
  });
});

it("a list fails if the engine that has more does not answer again, and ends if it is gone", async () => {
  serveLogs({ a: [1, 4], b: [2, 3, 5], c: [] }, (node, at) => node === "b" && at > 1);
  const { cursor } = await listLogs(null);
  expect(await listLogs(cursor)).toMatchObject({ error: { code: "timeout" } });
  cluster.kill(engines.get("b") as InMemoryEngine);
  await cluster.advance(12_000);
  expect(await listLogs(cursor)).toMatchObject({ ids: [], cursor: null, from: { missing: ["b"] } });
});
