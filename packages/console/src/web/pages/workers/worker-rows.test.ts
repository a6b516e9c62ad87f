import { expect, it } from "vitest";
import type { Worker } from "../../lib/worker-history.ts";
import { type ConfiguredWorker, configuredNow, matches, processStartMs, rowsOf, sortRows, type WorkerFigures } from "./worker-rows.ts";

function worker(id: string, name: string, more: Partial<Worker> = {}): Worker {
  return { id, name, runtime: "node", kind: "worker", internal: false, configured_worker: null, active_invocations: 0, ...more } as Worker;
}
const NOTHING = { workers: [], gone: [], configured: [], figures: [], nowMs: 1_000_000 };
const ALL = { q: "", runtime: undefined as string | undefined, status: undefined as string | undefined, system: false };

it("shows who is there, who went in the last ten minutes, and who should be there", () => {
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

it("tells how many share a name, and keeps them together", () => {
  const rows = rowsOf({ ...NOTHING, workers: [worker("b", "pay"), worker("c", "orders"), worker("a", "pay")] });
  expect(sortRows(rows, "name", "asc").map(({ id, instances }) => [id, instances])).toEqual([
    ["c", 1],
    ["a", 2],
    ["b", 2],
  ]);
});

it("tells whose process is whose, too: CPU and memory are the process's", () => {
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
  expect(rows.filter(({ processMates }) => processMates.length > 0).map(({ name, processMates }) => [name, processMates.map((mate) => mate.name)])).toEqual([
    ["a", ["b"]],
    ["b", ["a"]],
  ]);
});

it("sorts what is not known last, either way", () => {
  const figures = [
    { worker_id: "1", cpu_percent: 5 },
    { worker_id: "2", cpu_percent: null },
    { worker_id: "3", cpu_percent: 0 },
  ] as unknown as WorkerFigures[];
  const rows = rowsOf({ ...NOTHING, figures, workers: [worker("2", "b"), worker("1", "a"), worker("3", "c")] });
  expect(sortRows(rows, "cpu", "asc").map(({ id }) => id)).toEqual(["3", "1", "2"]);
  expect(sortRows(rows, "cpu", "desc").map(({ id }) => id)).toEqual(["1", "3", "2"]);
});

it("filters by name, pid, runtime, status, and hides the engine's own unless asked", () => {
  const rows = rowsOf({
    ...NOTHING,
    workers: [worker("1", "Orders", { pid: 4711 }), worker("2", "svc-http", { kind: "module", internal: true, runtime: "engine" })],
  });
  const found = (filter: Partial<typeof ALL>) => rows.filter((row) => matches(row, { ...ALL, ...filter })).map(({ id }) => id);
  expect(found({})).toEqual(["1"]);
  expect(found({ system: true })).toEqual(["1", "2"]);
  expect(found({ q: "orders" })).toEqual(["1"]);
  expect(found({ q: "471" })).toEqual(["1"]);
  expect(found({ q: "nobody" })).toEqual([]);
  expect(found({ runtime: "python" })).toEqual([]);
  expect(found({ status: "gone" })).toEqual([]);
});

it("shows how a worker of the config file is as soon as the stream tells, with the details that were asked for", () => {
  const module = { name: "svc-http", kind: "module", state: "ready" } as ConfiguredWorker;
  const asked = [{ name: "orders", kind: "local", state: "ready", reason: null, pids: [7], tail: ["up"] } as unknown as ConfiguredWorker, module];
  expect(configuredNow(asked, undefined)).toBe(asked);
  const told = [
    { name: "orders", kind: "local", state: "backing_off", reason: "it ended", restarts: 2, ready_at: null },
    { name: "site", kind: "command", state: "ready", reason: null, restarts: 0, ready_at: null },
  ];
  const now = configuredNow(asked, told);
  expect(now).toEqual([
    expect.objectContaining({ name: "orders", state: "backing_off", restarts: 2, pids: [7], tail: ["up"] }),
    expect.objectContaining({ name: "site", state: "ready", pids: [], tail: [] }),
    module,
  ]);
  const rows = rowsOf({ ...NOTHING, workers: [worker("1", "orders", { configured_worker: "orders" })], configured: now });
  expect(rows.map(({ name, status, state }) => [name, status, state])).toEqual([
    ["orders", "connected", "backing_off"],
    ["site", "down", "ready"],
  ]);
});

it("takes a process to have begun so long before its sample as that says, and never after its worker connected", () => {
  expect(processStartMs({ uptime_seconds: 141, as_of: 500_000 }, 400_000)).toBe(359_000);
  expect(processStartMs({ uptime_seconds: 99, as_of: 500_000 }, 400_000)).toBe(400_000);
  expect(processStartMs({ uptime_seconds: null, as_of: 500_000 }, 400_000)).toBeUndefined();
});
