import { describe, expect, it } from "vitest";
import { problemsOf, problemsWithoutFaults } from "./check-history.ts";
import type { End, History, Start } from "./journal.ts";
import type { Kind } from "./plan.ts";

let time = 0;
const start = (order: number, kind: Kind = "well", attempt = 1): Start => ({
  name: `0/0/${order}`,
  group: "0/0",
  order,
  kind,
  attempt,
  at: ++time,
});
const end = (order: number, ok = true, attempt = 1): End => ({ name: `0/0/${order}`, attempt, ok, at: ++time });
const history = (acks: readonly string[], runs: readonly (Start | End)[]): History => ({
  acks: new Set(acks),
  failures: new Map(),
  starts: runs.filter((run): run is Start => "group" in run),
  ends: runs.filter((run): run is End => "ok" in run),
});
const nothingLeft = { waiting: 0, dead: [] };

describe("the check of a history of jobs", () => {
  it("accepts one in which a job was run again before the next one of its group", () => {
    const runs = [start(0), end(0), start(0), end(0), start(1), end(1)];
    expect(problemsOf(history(["0/0/0", "0/0/1"], runs), nothingLeft)).toEqual([]);
  });

  it("accepts a dead-letter entry with its true error", () => {
    const runs = [1, 2, 3].flatMap((attempt) => [start(0, "poison", attempt), end(0, false, attempt)]);
    const final = { waiting: 0, dead: [{ name: "0/0/0", error: "invocation_failed: poison 0/0/0" }] };
    expect(problemsWithoutFaults(history(["0/0/0"], runs), final)).toEqual([]);
  });

  it("accepts a dead-letter entry whose last attempt was lost with the killed worker, and with no other", () => {
    const final = {
      waiting: 0,
      dead: [{ name: "0/0/0", error: "Invocation stopped: the worker's connection ended (runner-1)" }],
    };
    const runs = [start(0, "poison", 3)];
    expect(problemsOf(history(["0/0/0"], runs), final, "runner-1")).toEqual([]);
    expect(problemsOf(history(["0/0/0"], runs), final, "runner-2")).not.toEqual([]);
  });

  it.each([
    ["a lost job", history(["0/0/0"], []), nothingLeft, "0/0/0 was acknowledged and is lost"],
    ["a stuck job", history([], []), { waiting: 1, dead: [] }, "1 jobs are neither done nor dead"],
    ["a broken order", history([], [start(1), end(1), start(0), end(0)]), nothingLeft, "0/0/0 was run after 0/0/1"],
    [
      "a healthy job that is dead",
      history([], [start(0)]),
      { waiting: 0, dead: [{ name: "0/0/0", error: "x" }] },
      "0/0/0 is dead and need not be: x",
    ],
    [
      "a dead letter with another reason",
      history([], [start(0, "poison")]),
      { waiting: 0, dead: [{ name: "0/0/0", error: "x" }] },
      "0/0/0 is dead, but not with its true error: x",
    ],
  ])("finds %s", (_, seen, final, problem) => {
    expect(problemsOf(seen, final)).toContain(problem);
  });

  it.each([
    ["a job that was run twice", [start(0), end(0), start(0), end(0)], "0/0/0 is well and was run 2 times"],
    ["two of a group at a time", [start(0), start(1), end(0), end(1)], "0/0/1 began while another of its group ran"],
  ])("finds %s, if nothing was killed", (_, runs, problem) => {
    expect(problemsWithoutFaults(history([], runs), nothingLeft)).toContain(problem);
  });
});
