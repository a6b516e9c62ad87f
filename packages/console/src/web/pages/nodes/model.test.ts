import type { NodeListing, NodeReport } from "@svc-runtime/protocol/listings";
import { expect, it } from "vitest";
import { behindOf, clockText, problemsOf, storesText } from "./model.ts";

const REPORT: NodeReport = {
  version: "1.0.0",
  pid: 1,
  addresses: { bridge: "ws://localhost:1", http: "http://localhost:2", realtime: "ws://localhost:3" },
  started_at_ms: 0,
  workers: 0,
  calls_in_flight: 0,
  clock_offset_ms: 0,
  durability: "durable",
  durability_reason: null,
  stores: [
    { store: "queue", position: 9, behind: 1, problem: null },
    { store: "state", position: 9, behind: 20, problem: null },
  ],
};
const NODE: NodeListing = {
  ...{ name: "b", run: "r", self: false, state: "up", reason: null, gone_at_ms: null, report: REPORT },
};

it("sums what an engine still has to apply, and names what is wrong with it", () => {
  expect([behindOf(NODE), behindOf({ ...NODE, report: null })]).toEqual([21, undefined]);
  expect(storesText(NODE)).toBe("queue: 1 entry behind\nstate: 20 entries behind");
  expect([0, 1_540, -90].map(clockText)).toEqual(["0 s", "+1.5 s", "-0.1 s"]);
  expect(problemsOf(NODE)).toEqual([]);
  expect(problemsOf({ ...NODE, state: "gone", reason: "it stops", report: null })).toEqual(["b: it stops"]);
  const store = { store: "queue", position: 9, behind: 0, problem: "the log does not answer" };
  const report = { ...REPORT, durability_reason: "no sync", clock_offset_ms: 2_000, stores: [store] };
  expect(problemsOf({ ...NODE, report })).toEqual([
    "b: durability is relaxed; no sync",
    "b, store queue: the log does not answer",
    "b: its clock is +2.0 s from that of the engine that was asked",
  ]);
});
