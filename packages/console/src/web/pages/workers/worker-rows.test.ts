import { expect, it } from "vitest";
import type { Worker } from "../../lib/worker-history.ts";
import {
  type ConfiguredWorker,
  matches,
  processStartMs,
  rowsOf,
  sortRows,
  type WorkerMetrics,
  withLiveStates,
} from "./worker-rows.ts";

function worker(id: string, name: string, more: Partial<Worker> = {}): Worker {
  return {
    id,
    name,
    runtime: "node",
    kind: "worker",
    internal: false,
    configured_worker: null,
    active_invocations: 0,
    ...more,
  } as Worker;
}
const NOTHING = { workers: [], gone: [], configured: [], metrics: [], nowMs: 1_000_000 };
const ALL = { q: "", runtime: undefined as string | undefined, status: undefined as string | undefined, system: false };

it("shows connected workers, those that disconnected in the last ten minutes, and configured ones that are down", () => {
  const rows = rowsOf({
    ...NOTHING,
    workers: [worker("1", "orders", { configured_worker: "orders" })],
    gone: [
      { worker: worker("2", "mail"), goneAtMs: 999_000 },
      { worker: worker("3", "old"), goneAtMs: 300_000 },
    ],
    configured: [
      { name: "orders", kind: "local", state: "ready" },
      { name: "broken", kind: "local", state: "crash_looping" },
      { name: "svc-http", kind: "module", state: "ready" },
    ] as unknown as ConfiguredWorker[],
  });
  expect(rows.map(({ name, status, state }) => [name, status, state])).toEqual([
    ["orders", "connected", undefined],
    ["mail", "gone", undefined],
    ["broken", "down", "crash_looping"],
  ]);
});

it("counts the workers with one name, and keeps them together", () => {
  const rows = rowsOf({ ...NOTHING, workers: [worker("b", "pay"), worker("c", "orders"), worker("a", "pay")] });
  expect(sortRows(rows, "name", "asc").map(({ id, instances }) => [id, instances])).toEqual([
    ["c", 1],
    ["a", 2],
    ["b", 2],
  ]);
});

it("finds the workers that share a process, and so its CPU and memory", () => {
  const at = (pid: number | null, ip_address = "127.0.0.1") => ({ pid, ip_address, os: "linux" });
  const rows = rowsOf({
    ...NOTHING,
    workers: [
      worker("1", "a", at(7)),
      worker("2", "b", at(7)),
      worker("3", "elsewhere", at(7, "10.0.0.2")),
      worker("4", "alone", at(8)),
      worker("5", "unknown", at(null)),
      worker("6", "unknown", at(null)),
      worker("m", "svc-state", { ...at(8), kind: "module", internal: true }),
    ],
    gone: [{ worker: worker("9", "gone", at(7)), goneAtMs: 999_000 }],
  });
  expect(
    rows
      .filter(({ processPeers }) => processPeers.length > 0)
      .map(({ name, processPeers }) => [name, processPeers.map((peer) => peer.name)]),
  ).toEqual([
    ["a", ["b"]],
    ["b", ["a"]],
  ]);
});

it("sorts unknown values last in both directions", () => {
  const metrics = [
    { worker_id: "1", cpu_percent: 5 },
    { worker_id: "2", cpu_percent: null },
    { worker_id: "3", cpu_percent: 0 },
  ] as unknown as WorkerMetrics[];
  const rows = rowsOf({ ...NOTHING, metrics, workers: [worker("2", "b"), worker("1", "a"), worker("3", "c")] });
  expect(sortRows(rows, "cpu", "asc").map(({ id }) => id)).toEqual(["3", "1", "2"]);
  expect(sortRows(rows, "cpu", "desc").map(({ id }) => id)).toEqual(["1", "3", "2"]);
});

it("filters by name, pid, engine, runtime and status, and hides the engine's workers by default", () => {
  const rows = rowsOf({
    ...NOTHING,
    workers: [
      worker("1", "Orders", { pid: 4711, node: "b" }),
      worker("2", "svc-http", { kind: "module", internal: true, runtime: "engine" }),
    ],
  });
  const found = (filter: Partial<typeof ALL>) =>
    rows.filter((row) => matches(row, { ...ALL, ...filter })).map(({ id }) => id);
  expect(found({})).toEqual(["1"]);
  expect(found({ system: true })).toEqual(["1", "2"]);
  expect(found({ q: "orders" })).toEqual(["1"]);
  expect(found({ q: "471" })).toEqual(["1"]);
  expect(found({ q: "nobody" })).toEqual([]);
  expect([found({ q: "node:b" }), found({ q: "node:a" })]).toEqual([["1"], []]);
  expect(found({ runtime: "python" })).toEqual([]);
  expect(found({ status: "gone" })).toEqual([]);
});

it("merges the live states of configured workers with their polled details", () => {
  const module = { name: "svc-http", kind: "module", state: "ready" } as ConfiguredWorker;
  const polled = [
    {
      name: "orders",
      kind: "local",
      state: "ready",
      reason: null,
      pids: [7],
      tail: ["up"],
    } as unknown as ConfiguredWorker,
    module,
  ];
  expect(withLiveStates(polled, undefined)).toBe(polled);
  const states = [
    { name: "orders", kind: "local", state: "backing_off", reason: "it ended", restarts: 2, ready_at: null },
    { name: "site", kind: "command", state: "ready", reason: null, restarts: 0, ready_at: null },
  ];
  const now = withLiveStates(polled, states);
  expect(now).toEqual([
    expect.objectContaining({ name: "orders", state: "backing_off", restarts: 2, pids: [7], tail: ["up"] }),
    expect.objectContaining({ name: "site", state: "ready", pids: [], tail: [] }),
    module,
  ]);
  const rows = rowsOf({
    ...NOTHING,
    workers: [worker("1", "orders", { configured_worker: "orders" })],
    configured: now,
  });
  expect(rows.map(({ name, status, state }) => [name, status, state])).toEqual([
    ["orders", "connected", "backing_off"],
    ["site", "running", "ready"],
  ]);
});

it("derives the start of a process from the uptime in its sample, and never returns a time after its worker connected", () => {
  expect(processStartMs({ uptime_seconds: 141, as_of: 500_000 }, 400_000)).toBe(359_000);
  expect(processStartMs({ uptime_seconds: 99, as_of: 500_000 }, 400_000)).toBe(400_000);
  expect(processStartMs({ uptime_seconds: null, as_of: 500_000 }, 400_000)).toBeUndefined();
});
