import { once } from "node:events";
import { expect, it } from "vitest";
import { silentLogger } from "../../kernel/logger.ts";
import type { ProcedureTable } from "../../kernel/store-contract.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { defaultDriver } from "../driver.ts";
import type { LedgerProcedures } from "../testing/ledger-procedures.ts";
import * as ledgerModule from "../testing/ledger-procedures.ts";
import { openMemoryDatabase } from "./open-replica.ts";
import { Replica } from "./replica.ts";
import type { ReplicaHost } from "./replica-messages.ts";
import type { RunState } from "./replica-tables.ts";
import { ReplicatedStore } from "./replicated-store.ts";
import { TestCluster } from "./testing/cluster.ts";

const cluster = new TestCluster();

/** Opens a store whose replica ends, when it is told to, after it applied entries and before it reports them. */
async function openFragile(node: string) {
  const log = cluster.log.connect();
  const { identity } = await log.state();
  const run = `${node}/0`;
  const database = openMemoryDatabase(ledgerModule, { seed: undefined, driver: defaultDriver() });
  const fragile = { endsNext: false, staysEnded: false, isReopening: false };
  const reopen = async (signal?: AbortSignal): Promise<ReplicaHost> => {
    if (fragile.staysEnded && signal !== undefined) {
      // Like a replica that is restored from a large snapshot.
      fragile.isReopening = true;
      await once(signal, "abort");
      signal.throwIfAborted();
    }
    const replica = new Replica(database, ledgerModule, { identity, run });
    return {
      opened: replica.opened,
      async apply(entries) {
        const result = replica.apply(entries);
        if (!fragile.endsNext) return result;
        fragile.endsNext = false;
        throw new Error("a test: the thread ended");
      },
      read: async (requests, time) => replica.read(requests, time),
      answersOf: async (of) => replica.answersOf(of),
      snapshot: () => Promise.reject(new Error("not in this test")),
      close: async () => {},
    };
  };
  const ends: RunState[] = [];
  const clock = manualClock();
  const store = new ReplicatedStore<LedgerProcedures & ProcedureTable>({
    ...{ log, replica: await reopen(), reopen, run, node, logger: silentLogger, clock, timeoutClock: clock },
    onEnded: (state) => ends.push(state),
  });
  await store.open();
  return { store, fragile, ends };
}

it("a replica that restarts before it reported writes of others ends the run, so that nothing is missed", async () => {
  const other = await cluster.open("a");
  const { store, fragile, ends } = await openFragile("b");
  const seen: unknown[] = [];
  store.onApplied(({ input }) => seen.push(input));
  await other.store.call("add", "1");
  await expect.poll(() => seen).toEqual(["1"]);
  fragile.endsNext = true;
  await other.store.call("add", "2");
  await expect.poll(() => ends).toEqual(["member"]);
  await expect(store.call("add", "3")).rejects.toMatchObject({ details: { outcome: "not_written" } });
  const successor = await cluster.open("b");
  expect(await successor.store.call("texts", null)).toEqual(["1", "2"]);
  expect(other.store.members()).not.toContain(store.run);
  await store.abort();
});

it("a replica that restarts before it reported a write of its own run goes on with the stored answer", async () => {
  const other = await cluster.open("a");
  const { store, fragile, ends } = await openFragile("b");
  fragile.endsNext = true;
  expect(await store.call("add", "1")).toBe(1);
  // Reads of others are entries without requests.
  fragile.endsNext = true;
  expect(await other.store.call("texts", null)).toEqual(["1"]);
  expect(await store.call("add", "2")).toBe(1);
  expect(ends).toEqual([]);
  await store.abort();
});

it("a replica that restarts knows the members, and reports the runs that are gone", async () => {
  const other = await cluster.open("a");
  const { store, fragile } = await openFragile("b");
  const gone: unknown[] = [];
  store.onRunsGone((runs) => gone.push(runs));
  fragile.endsNext = true;
  await store.expel(other.store.run);
  expect(store.members()).toEqual([store.run]);
  expect(gone).toEqual([[other.store.run]]);
  await store.abort();
});

it("the restore of a replica is aborted when its store ends", async () => {
  const other = await cluster.open("a");
  const { store, fragile } = await openFragile("b");
  fragile.endsNext = true;
  fragile.staysEnded = true;
  await other.store.call("add", "1");
  await expect.poll(() => fragile.isReopening).toBe(true);
  await store.abort();
});
