import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { silentLogger } from "../kernel/logger.ts";
import { saveSnapshot } from "../store/replicated/save-snapshot.ts";
import { ledger, TestCluster } from "../store/replicated/testing/cluster.ts";
import { MemorySeeds } from "../store/replicated/testing/memory-seeds.ts";
import type { LedgerProcedures } from "../store/testing/ledger-procedures.ts";
import { manualClock } from "../testing/manual-clock.ts";
import { ClusterStores } from "./cluster-stores.ts";
import type { LogConnection } from "./testing/memory-log.ts";

const cluster = new TestCluster();

it("a store that is expelled while its replica is copied is opened again, and nothing of the copy is left", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-stores-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [clock, ended] = [manualClock(), [] as string[]];
  const stores = new ClusterStores<LogConnection>({
    openLog: async () => ({ log: cluster.log.connect(), seeds: new MemorySeeds() }),
    ...{ node: "b", snapshotAfter: 1, logger: silentLogger, clock },
    onStoreEnded: (shared) => ended.push(shared),
  });
  const open = () =>
    stores.open<LedgerProcedures>("b", "ledger", { file: join(folder, "ledger.db"), procedures: ledger });
  const a = await cluster.open("a");
  const first = await open();
  // The copy has 40 MB, since each text is in an index, too.
  for (let line = 0; line < 50; line += 1) await a.store.call("add", `${line} ${"x".repeat(400_000)}`);
  const copies = (): string[] => readdirSync(folder).filter((name) => name.includes(".snapshot"));
  await expect
    .poll(
      () => {
        clock.advance(2_000);
        return copies().length;
      },
      { interval: 2, timeout: 20_000 },
    )
    .toBeGreaterThan(0);
  await a.store.expel(first.run);
  await expect.poll(() => ended).toEqual(["ledger"]);
  await first.close();
  // Before it is opened again, which removes what a process left that was killed.
  await expect.poll(copies).toEqual([]);
  const second = await open();
  expect(await second.call("texts", null)).toHaveLength(50);
  expect(a.store.members()).toEqual([a.store.run, second.run]);
  await second.close();
  await stores.stop();
});

it("a store is listed once while its replica is made from a snapshot again, and not when it is closed", async () => {
  const [file, seeds] = [cluster.newFile(), new MemorySeeds()];
  const stores = new ClusterStores<LogConnection>({
    openLog: async () => ({ log: cluster.log.connect(), seeds }),
    ...{ node: "b", snapshotAfter: 2 ** 30, logger: silentLogger, clock: manualClock() },
    onStoreEnded: () => {},
  });
  const a = await cluster.open("a");
  const b = await stores.open<LedgerProcedures>("b", "ledger", { file, procedures: ledger });
  await a.store.call("add", "1");
  await saveSnapshot(a.store, { log: a.connection, seeds, draft: cluster.newFile() });
  let copies = 0;
  seeds.beforeCopy = async () => {
    copies += 1;
  };
  rmSync(file);
  const ended = b.call("endThread", null).catch(() => undefined);
  await expect.poll(() => copies).toBe(1);
  expect(stores.positions()).toMatchObject([{ store: "ledger", problem: expect.stringContaining("thread") }]);
  await b.close();
  await ended;
  expect(stores.positions()).toEqual([]);
  await stores.stop();
});
