import type { NodeListing, NodeReport } from "@svc-runtime/protocol/listings";
import { expect, it } from "vitest";
import { notReady } from "./engine.ts";
import { findingsOf } from "./nodes.ts";

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
  stores: [{ store: "queue", position: 5_000, behind: 0, problem: null }],
};

function node(report: Partial<NodeReport> | null, more: Partial<NodeListing> = {}): NodeListing {
  return {
    ...{ name: "b", run: "r", self: false, state: "up", reason: null, gone_at_ms: null },
    report: report === null ? null : { ...REPORT, ...report },
    ...more,
  };
}

const shown = (one: NodeListing, others: readonly NodeListing[] = []): readonly string[] =>
  findingsOf(one, [one, ...others]).map(({ status, message }) => `${status}: ${message}`);

it("finds what is wrong with an engine of a cluster", () => {
  expect(shown(node({}))).toEqual(["ok: up at ws://localhost:1"]);
  expect(shown(node(null, { state: "gone", reason: "it was silent for 6 s" }))).toEqual([
    "warning: gone: it was silent for 6 s",
  ]);
  expect(shown(node(null, { state: "silent", reason: "it did not answer" }))).toEqual([
    "problem: silent: it did not answer",
  ]);
  const stores = [
    { store: "queue", position: 1, behind: 1_001, problem: null },
    { store: "state", position: 1, behind: 1_000, problem: "the log does not answer" },
  ];
  expect(shown(node({ stores }))).toEqual([
    "warning: its store queue is 1001 entries behind",
    "problem: store state: the log does not answer",
  ]);
  expect(shown(node({ durability: "relaxed", durability_reason: "no sync" }))).toEqual([
    "warning: durability: relaxed; no sync",
  ]);
  expect(shown(node({ clock_offset_ms: -1_500 }))).toEqual([
    "warning: its clock is 1.5 s behind that of the engine that was asked",
  ]);
  expect(shown(node({}), [node({ version: "1.0.1" })])).toEqual(["warning: it has version 1.0.0, others have another"]);
});

it("warns about an engine that is not ready only because it is drained", () => {
  const drained = node({}, { name: "a", self: true, state: "drained" });
  expect(notReady(503, ["the engine is drained"], [drained, node({})])).toEqual({
    check: "readiness",
    status: "warning",
    message: "not ready (/readyz, HTTP 503): the engine is drained",
    remedy: "To take it back: svc nodes undrain a",
  });
  for (const reason of ["cluster: no NATS server answers", "the engine is shutting down"])
    expect(notReady(503, [reason, "the engine is drained: its workers are at other engines"], [drained])).toMatchObject(
      {
        status: "problem",
        remedy: expect.stringContaining("See the engine's log"),
      },
    );
  expect(notReady(503, ["no NATS server"], [node({}, { self: true }), node({}, { state: "drained" })]).status).toBe(
    "problem",
  );
});
