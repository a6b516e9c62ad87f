import { defineModule, type ModuleContext, type NodeQuestions } from "@svc-runtime/engine/module";
import { InMemoryCluster, manualClock } from "@svc-runtime/engine/testing";
import { Payload } from "@svc-runtime/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { MergedLogs } from "../logs/nodes/merged-logs.ts";
import { AskedNodes } from "./ask-nodes.ts";

const TOPIC = "test";
let cluster: InMemoryCluster;
let contexts: Map<string, ModuleContext<unknown>>;

beforeEach(async () => {
  cluster = new InMemoryCluster();
  contexts = new Map();
  for (const name of ["a", "b", "c"]) {
    const asking = defineModule({
      ...{ name: "asking", summary: "a test", config: z.unknown() },
      start(context) {
        contexts.set(name, context);
        return { stop() {} };
      },
    });
    await cluster.start(name, { modules: [asking] });
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

it("a list whose time is over continues on the next page", async () => {
  const clock = manualClock();
  let questions = 0;
  const nodes: NodeQuestions = {
    name: "a",
    answer: () => () => {},
    async ask() {
      questions += 1;
      clock.advance(400);
      const at = [String(questions).padStart(20, "0"), questions];
      const page = { rows: [{ log: { id: String(questions) }, at }], next: at, counted: { total: 99, whole: true } };
      return {
        ...{ answers: [{ node: "a", answer: Payload.fromValue(page) }], missing: [], gone: [] },
        problems: new Map<string, string>(),
      };
    },
  };
  const merged = new MergedLogs(nodes, clock);
  const { logs, cursor } = await merged.list({ limit: 100, sort_order: "asc" });
  expect(logs).toHaveLength(questions);
  // The last one begins 500 ms before the time is over.
  expect(questions).toBe(7);
  expect(cursor).not.toBeNull();
  expect(merged.from).toEqual({ nodes: ["a"] });
});
