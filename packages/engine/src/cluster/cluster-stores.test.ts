import { expect, it } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { ledger, TestCluster } from "../store/replicated/testing/cluster.ts";
import { MemorySeeds } from "../store/replicated/testing/memory-seeds.ts";
import type { LedgerProcedures } from "../store/testing/ledger-procedures.ts";
import { ClusterStores } from "./cluster-stores.ts";
import type { LogConnection, LogFaults } from "./testing/memory-log.ts";

const cluster = new TestCluster();

function storesWith(faults: LogFaults = {}) {
  const ended: string[] = [];
  const stores = new ClusterStores<LogConnection>({
    openLog: async () => ({ log: cluster.log.connect(faults), seeds: new MemorySeeds() }),
    ...{ node: "b", snapshotAfter: 2 ** 30, logger: silentLogger, clock: systemClock },
    onStoreEnded: (shared) => ended.push(shared),
  });
  const open = () => stores.open<LedgerProcedures>("b", "ledger", { file: undefined, procedures: ledger });
  return { stores, ended, open };
}

it("a store that is expelled while it is opened is not kept, and is opened again", async () => {
  const a = await cluster.open("a");
  const held: (() => void)[] = [];
  let [hasJoined, isJoining] = [false, false];
  const { stores, ended, open } = storesWith({
    deliver: (action) => void (isJoining ? held.push(action) : process.nextTick(action)),
    // The replica gets this entry, that of its run and the one that expels it at once, so it applies the last two together.
    async beforeStored() {
      if (hasJoined) return;
      hasJoined = isJoining = true;
      await a.store.call("add", "1");
    },
  });
  const opening = open();
  await expect.poll(() => a.store.members()).toHaveLength(2);
  await a.store.expel(a.store.members()[1] ?? "");
  isJoining = false;
  for (const action of held.splice(0)) action();
  const store = await opening;
  expect(ended).toEqual(["ledger"]);
  expect([[...stores.opened()], stores.positions()]).toEqual([[], []]);
  await store.close();
  const second = await open();
  expect(await second.call("texts", null)).toEqual(["1"]);
  expect(a.store.members()).toEqual([a.store.run, second.run]);
  await second.close();
  expect(ended).toEqual(["ledger"]);
  await stores.stop();
});

it("a store is listed while it is opened, and not when it is closed", async () => {
  const { stores, open } = storesWith();
  const opening = open();
  expect(stores.positions()).toMatchObject([{ store: "ledger", position: 0, problem: "is being opened" }]);
  const store = await opening;
  expect(stores.positions()).toMatchObject([{ store: "ledger", position: 1, problem: undefined }]);
  const closing = store.close();
  expect(stores.positions()).toEqual([]);
  await closing;
  await stores.stop();
});
