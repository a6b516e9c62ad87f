import { expect, it } from "vitest";
import { StayPromises } from "./stay-promises.ts";

it.each([
  ["stays if it is up", "up", true],
  ["does not stay if it is drained", "draining", false],
] as const)("a node of an earlier version, which does not know the question, %s", async (_, state, stays) => {
  const problems = new Map([["old", "no module answers questions about it"]]);
  const promises = new StayPromises({
    questions: {
      answer: () => () => {},
      ask: async () => ({ answers: [], missing: ["old", "silent"], problems, gone: [] }),
    },
    ...{ run: "self", isUp: () => true },
    peers: () => [
      { name: "old", state },
      { name: "silent", state: "up" },
    ],
  });
  expect(await promises.ask()).toBe(stays);
});
