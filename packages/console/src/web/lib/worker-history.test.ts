// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { type Worker, WorkerHistory } from "./worker-history.ts";

function worker(id: string, name: string, functions: readonly string[] = []): Worker {
  return { id, name, functions, internal: false, kind: "worker" } as unknown as Worker;
}

it("has no history of workers that were connected when the page was opened", () => {
  const history = new WorkerHistory(0);
  expect(history.now().loaded).toBe(false);
  history.sync([worker("1", "orders", ["a"])], 1);
  expect(history.now()).toMatchObject({ loaded: true, events: [], gone: [], asOfMs: 1 });
});

it("records connects, disconnects and their functions", () => {
  const history = new WorkerHistory(0);
  history.sync([], 1);
  history.put(worker("1", "orders", ["a"]), 2);
  history.put(worker("1", "orders", ["b"]), 3);
  history.remove("1", 4);
  history.remove("unknown", 5);
  expect(history.now().events.map(({ atMs, what, functions }) => [atMs, what, ...functions])).toEqual([
    [4, "disconnected"],
    [3, "unregistered", "a"],
    [3, "registered", "b"],
    [2, "registered", "a"],
    [2, "connected"],
  ]);
  expect(history.now().gone).toMatchObject([{ goneAtMs: 4, worker: { id: "1" } }]);
  expect(history.now().workers).toEqual([]);
});

it("detects in a later sync which workers disconnected", () => {
  const history = new WorkerHistory(0);
  history.sync([worker("1", "orders"), worker("2", "mail")], 1);
  history.sync([worker("2", "mail")], 9);
  expect(history.now().gone).toMatchObject([{ goneAtMs: 9, worker: { name: "orders" } }]);
});

it("limits the history", () => {
  const history = new WorkerHistory(0);
  history.sync([], 0);
  for (let at = 0; at < 1_000; at++) {
    history.put(worker(`${at}`, "w"), at);
    history.remove(`${at}`, at);
  }
  expect(history.now().events).toHaveLength(500);
  expect(history.now().gone).toHaveLength(200);
  expect(history.now().gone[0]?.worker.id).toBe("999");
});

it("knows which functions are provided after the first sync", () => {
  const history = new WorkerHistory(0);
  expect(history.provides("a")).toBeUndefined();
  history.sync([worker("1", "orders", ["a"])], 1);
  expect([history.provides("a"), history.provides("b")]).toEqual([true, false]);
  history.put(worker("2", "mail", ["b"]), 2);
  history.remove("1", 3);
  expect([history.provides("a"), history.provides("b")]).toEqual([false, true]);
});
