import { Payload } from "@svc-runtime/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import type { InMemoryEngine } from "../../testing/in-memory-engine.ts";
import { inMemoryEngine } from "../../testing/in-memory-engine.ts";
import { defineModule, type ModuleContext } from "../module.ts";
import { InMemoryCluster } from "./testing/in-memory-cluster.ts";

let cluster: InMemoryCluster;
let contexts: Map<string, ModuleContext<unknown>>;
let byName: Map<string, InMemoryEngine>;

const asking = (name: string) =>
  defineModule({
    name: "asking",
    summary: "a test",
    config: z.unknown(),
    start(context) {
      contexts.set(name, context);
      return { stop() {} };
    },
  });

beforeEach(async () => {
  cluster = new InMemoryCluster();
  contexts = new Map();
  byName = new Map();
  for (const name of ["a", "b", "c"]) byName.set(name, await cluster.start(name, { modules: [asking(name)] }));
});
afterEach(() => cluster.stop());

const nodesOf = (name: string) => {
  const nodes = contexts.get(name)?.nodes;
  if (nodes === undefined) throw new Error(`${name} is in no cluster`);
  return nodes;
};
const ask = async (name: string) => {
  let answers: unknown;
  const asked = nodesOf(name)
    .ask("load", Payload.fromValue("q"))
    .then((found) => {
      answers = {
        answers: found.answers.map(({ node, answer }) => [node, answer.value()]),
        missing: found.missing,
      };
    });
  await cluster.advance(400);
  const early = answers;
  await cluster.advance(200);
  await asked;
  return { early, answers };
};

it("a question is answered by all nodes, and those that are silent for 500 ms are named", async () => {
  for (const name of ["a", "b"])
    nodesOf(name).answer("load", (question) => Payload.fromValue(`${name} ${question.text()}`));
  nodesOf("c").answer("load", () => new Promise(() => {}));
  const { early, answers } = await ask("a");
  expect(early).toBeUndefined();
  expect(answers).toEqual({
    answers: [
      ["a", 'a "q"'],
      ["b", 'b "q"'],
    ],
    missing: ["c"],
  });
});

it("a question is settled at once when each node has answered, refused or gone", async () => {
  nodesOf("a").answer("load", () => Payload.fromValue(1));
  nodesOf("b").answer("load", () => {
    throw new Error("a test");
  });
  expect((await ask("b")).early).toEqual({ answers: [["a", 1]], missing: ["b", "c"] });
});

it("a topic has one answerer, and its undo frees it", () => {
  const undo = nodesOf("a").answer("load", () => Payload.null);
  expect(() => nodesOf("a").answer("load", () => Payload.null)).toThrow("another module");
  undo();
  nodesOf("a").answer("load", () => Payload.null);
});

it("an engine alone has no nodes to ask", async () => {
  const engine = await inMemoryEngine({ modules: [asking("alone")] });
  expect(contexts.get("alone")?.nodes).toBeUndefined();
  await engine.stop();
});
