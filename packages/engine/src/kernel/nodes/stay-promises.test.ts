import { expect, it } from "vitest";
import { noAnswererOf } from "./ask-nodes.ts";
import { StayPromises, TOPIC } from "./stay-promises.ts";

it.each([
  ["that does not know the question, as of an earlier version, and is up: yes", noAnswererOf(TOPIC), "up", true],
  ["that does not know the question, but is drained: no", noAnswererOf(TOPIC), "draining", false],
  ["that has no time for the question: no", "too many questions at a time", "up", false],
] as const)("whether a node stays %s", async (_, problem, state, stays) => {
  const problems = new Map([["other", problem]]);
  const promises = new StayPromises({
    questions: {
      answer: () => () => {},
      ask: async () => ({ answers: [], missing: ["other", "silent"], problems, gone: [] }),
    },
    ...{ run: "self", isUp: () => true },
    peers: () => [
      { name: "other", state },
      { name: "silent", state: "up" },
    ],
  });
  expect(await promises.ask()).toBe(stays);
});
