import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { MemoryLog } from "../../cluster/testing/memory-log.ts";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { openReplicatedStore } from "../../store/replicated/open-replicated-store.ts";
import { recordLog } from "../../store/replicated/testing/recorded-logs.ts";
import type { ItemStore } from "../item-store.ts";
import type { SharedWatchers, StoredWatcher } from "../shared-watchers.ts";
import { openFileItems } from "./file.ts";

let root: string;
let stores: ItemStore[];
let log: MemoryLog;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "svc-watchers-"));
  log = new MemoryLog();
  stores = [];
  for (const node of ["a", "b"]) {
    const store = await openFileItems({
      ...{ filePath: "items.db", cacheBytes: 0, log: silentLogger, clock: systemClock },
      dataDir: mkdtempSync(join(root, "data-")),
      openStore: ({ procedures }) => openReplicatedStore({ log: log.connect(), node, file: undefined, procedures }),
    });
    stores.push(store);
  }
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await recordLog(log, new URL("./file-thread/procedures.js", import.meta.url));
  rmSync(root, { recursive: true, force: true });
});

const watcher: StoredWatcher = {
  ...{ id: "w", scope: "s", key: null, prefix: "", kinds: ["created", "updated", "deleted"] },
  ...{ isTrusted: true, name: "w" },
};

function watchersOf(store: ItemStore | undefined): SharedWatchers {
  if (store?.sharedWatchers === undefined) throw new Error("the store is not shared");
  return store.sharedWatchers;
}

const write = (store: ItemStore | undefined, key: string) =>
  store?.set(
    "s",
    key,
    { json: "1", bytes: 1, expiresAt: undefined },
    { now: Date.now(), ifVersion: undefined, notice: undefined },
  );

it("a watcher that ends takes its deliveries with it, and none of another watcher or of its successor", async () => {
  const [a, b] = stores;
  await watchersOf(a).watch(watcher);
  await watchersOf(a).watch({ ...watcher, id: "other", name: "other" });
  await write(b, "k1");
  await write(b, "k2");
  const ended = watchersOf(a).unwatch({ id: "w", isTrusted: true, isKept: false });
  // Before the first engine knows that it has ended.
  await watchersOf(b).watch(watcher);
  await write(b, "k3");
  const discarded = await ended;
  expect(await a?.outbox.watchers()).toEqual([
    { watcher: "other", waiting: 3 },
    { watcher: "w", waiting: 1 },
  ]);
  const pending = await a?.outbox.pending({ watcher: "w", after: 0, limit: 10, maxBytes: 1_000 });
  expect(pending?.map(({ change }) => change.key)).toEqual(["k3"]);
  expect(discarded).toBe(2);
});

it("a watcher that goes on keeps its deliveries, until it is dropped without engines", async () => {
  const [a, b] = stores;
  await watchersOf(a).watch(watcher);
  await watchersOf(b).watch(watcher);
  await write(a, "k");
  const answers = [
    await watchersOf(a).unwatch({ id: "w", isTrusted: true, isKept: false }),
    await watchersOf(a).drop("w"),
    await watchersOf(b).unwatch({ id: "w", isTrusted: true, isKept: true }),
  ];
  expect(await a?.outbox.watchers()).toEqual([{ watcher: "w", waiting: 1 }]);
  answers.push(await watchersOf(a).drop("w"));
  expect(await a?.outbox.watchers()).toEqual([]);
  expect(answers).toEqual([undefined, undefined, undefined, 1]);
});
