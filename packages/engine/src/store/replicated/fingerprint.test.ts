import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
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
let opened: ReplicatedStore<LedgerProcedures> | undefined;
afterEach(() => opened?.abort());

/** Opens a store whose replica has other answers than the others. */
function openDifferent(): Promise<ReplicatedStore<LedgerProcedures>> {
  return openWith((host) => ({
    ...host,
    async apply(entries) {
      const result = await host.apply(entries);
      return { ...result, applied: result.applied.map((applied) => ({ ...applied, digest: "different" })) };
    },
  }));
}

/** Opens a store whose replica applies the entries up to a position only. */
async function openSlow() {
  const events = new EventEmitter();
  let last = Number.POSITIVE_INFINITY;
  const store = await openWith((host) => ({
    ...host,
    async apply(entries) {
      const next = entries.slice(0, 1);
      while (next.some(({ position }) => position > last)) await once(events, "moved");
      return host.apply(next);
    },
  }));
  const allow = (position: number): void => {
    last = position;
    events.emit("moved");
  };
  return { store, allow };
}

async function openWith(change: (host: ReplicaHost) => ReplicaHost): Promise<ReplicatedStore<LedgerProcedures>> {
  const [log, run] = [cluster.log.connect(), randomUUID()];
  const { identity } = await log.state();
  const place = { driver: defaultDriver(), seed: undefined, identity, run };
  const replica = change(await openMemoryReplica(ledger, place));
  const clock = systemClock;
  const parts = { log, replica, run, node: "other", clock, timeoutClock: clock, logger: silentLogger };
  opened = new ReplicatedStore({ ...parts, reopen: () => Promise.reject(new Error("a test")), fingerprintEvery });
  await opened.open();
  return opened;
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

  it("is compared at the position of a question also if the other replica reaches it after further questions", async () => {
    const a = await cluster.open("a", { stallMs: 2_000 });
    const b = await openSlow();
    await expect.poll(() => a.store.position()).toBe(2);
    b.allow(2);
    const agreeing = a.store.agree();
    for (let question = 0; question < 3; question += 1) await a.store.catchUp();
    b.allow(3);
    await agreeing;
    b.allow(Number.POSITIVE_INFINITY);
  });
});
