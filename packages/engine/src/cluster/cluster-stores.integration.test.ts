import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { silentLogger } from "../kernel/logger.ts";
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
  const second = await open();
  expect(copies()).toEqual([]);
  expect(await second.call("texts", null)).toHaveLength(50);
  expect(a.store.members()).toEqual([a.store.run, second.run]);
  await second.close();
  await stores.stop();
});
