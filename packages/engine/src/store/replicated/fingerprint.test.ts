import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { defaultDriver } from "../driver.ts";
import type { LedgerProcedures } from "../testing/ledger-procedures.ts";
import { openMemoryReplica } from "./memory-replica.ts";
import type { ReplicaHost } from "./replica-messages.ts";
import { ReplicatedStore } from "./replicated-store.ts";
import { ledger, TestCluster } from "./testing/cluster.ts";

const cluster = new TestCluster();
const fingerprintEvery = 5;
let different: ReplicatedStore<LedgerProcedures> | undefined;
afterEach(() => different?.abort());

/** Opens a store whose replica has other answers than the others. */
async function openDifferent(): Promise<ReplicatedStore<LedgerProcedures>> {
  const [log, run] = [cluster.log.connect(), randomUUID()];
  const { identity } = await log.state();
  const place = { driver: defaultDriver(), seed: undefined, identity, run };
  const host = await openMemoryReplica(ledger, place);
  const replica: ReplicaHost = {
    ...host,
    async apply(entries) {
      const result = await host.apply(entries);
      return { ...result, applied: result.applied.map((applied) => ({ ...applied, digest: "different" })) };
    },
  };
  const clock = systemClock;
  const parts = { log, replica, run, node: "different", clock, timeoutClock: clock, logger: silentLogger };
  different = new ReplicatedStore({ ...parts, reopen: () => Promise.reject(new Error("a test")), fingerprintEvery });
  await different.open();
  return different;
}

describe("the fingerprint of a replica", () => {
  it("that differs from the majority's quarantines it", async () => {
    const [a, b] = [await cluster.open("a", { fingerprintEvery }), await cluster.open("b", { fingerprintEvery })];
    const c = await openDifferent();
    for (let line = 0; line < 10; line += 1) await a.store.call("add", String(line));
    await expect(c.call("add", "no")).rejects.toMatchObject({ code: "run_expelled" });
    expect(c.problem()).toMatch(/differs from those of the majority; it must be seeded again/);
    await b.store.call("texts", null);
    expect(b.store.members()).toEqual([a.store.run, b.store.run]);
    expect(await cluster.hashes(a, b)).toHaveLength(1);
  });

  it("that differs between two is reported by both, and quarantines none", async () => {
    const a = await cluster.open("a", { fingerprintEvery });
    const b = await openDifferent();
    for (let line = 0; line < 10; line += 1) await a.store.call("add", String(line));
    await b.call("add", "yes");
    expect([a.store.damage(), b.damage()]).toEqual(Array(2).fill("the replicas of this store differ"));
    expect(a.store.members()).toHaveLength(2);
  });

  it("is the same for replicas that are equal", async () => {
    const [a, b] = [await cluster.open("a", { fingerprintEvery }), await cluster.open("b", { fingerprintEvery })];
    for (let line = 0; line < 30; line += 1) await [a, b][line % 2]?.store.call("add", String(line));
    expect([a.store.damage(), b.store.damage(), a.store.members().length]).toEqual([undefined, undefined, 2]);
  });
});
