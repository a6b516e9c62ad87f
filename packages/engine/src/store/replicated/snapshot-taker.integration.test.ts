import { EventEmitter, once } from "node:events";
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../kernel/logger.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import type { KeptSnapshot, SeedClaim } from "./seeds.ts";
import { SnapshotTaker, type SnapshotTakerParts } from "./snapshot-taker.ts";
import { TestCluster, type TestNode } from "./testing/cluster.ts";
import { MemorySeeds } from "./testing/memory-seeds.ts";

const cluster = new TestCluster();
const AFTER = 65_536;

describe("engines that take snapshots", () => {
  const clock = manualClock();
  let lines = 0;

  function takerOf(
    { store, connection }: Pick<SnapshotTakerParts, "store"> & Pick<TestNode, "connection">,
    seeds: MemorySeeds,
  ) {
    const draft = cluster.newFile();
    const taker = new SnapshotTaker({
      ...{ store, log: connection, seeds, draft, after: AFTER, clock, logger: silentLogger },
    });
    taker.start();
    return { taker, draft };
  }

  const identity = (): string => cluster.log.state().identity;
  async function grow({ store }: TestNode, times = 1): Promise<void> {
    for (let time = 0; time < times; time += 1) {
      lines += 1;
      await store.call("add", `${lines} ${"x".repeat(AFTER)}`);
    }
  }

  it("take one of them each time that the log has grown, and cut the log at the one before", async () => {
    const seeds = new MemorySeeds();
    const [a, b] = [await cluster.open("a"), await cluster.open("b", { file: cluster.newFile() })];
    const takers = [takerOf(a, seeds), takerOf(b, seeds)];
    const taken: (readonly KeptSnapshot[])[] = [];
    for (let round = 0; round < 3; round += 1) {
      // By more than half of the replicas, which have each text twice.
      await grow(round === 1 ? b : a, 2 ** round);
      const newest = taken.at(-1)?.[0]?.position ?? 0;
      await expect
        .poll(async () => {
          clock.advance(2_000);
          return (await seeds.list(identity()))[0]?.position ?? 0;
        })
        .toBeGreaterThan(newest);
      taken.push(await seeds.list(identity()));
    }
    await Promise.all(takers.map(({ taker }) => taker.stop()));
    expect(taken.map(({ length }) => length)).toEqual([1, 2, 2]);
    // The second newest of the last round is the newest of the round before: no round took two.
    expect(taken[2]?.[1]).toEqual(taken[1]?.[0]);
    expect(cluster.log.state().first).toBe((taken[2]?.[1]?.position ?? 0) + 1);
    expect(takers.filter(({ draft }) => existsSync(draft))).toEqual([]);
    const c = await cluster.open("c", { seeds });
    expect(await c.store.call("texts", null)).toHaveLength(7);
    expect(await cluster.hashes(a, b, c)).toHaveLength(1);
  });

  it("take one although another engine began one and is gone", async () => {
    const seeds = new MemorySeeds();
    const [a, b] = [await cluster.open("a"), await cluster.open("b")];
    const claim: SeedClaim | undefined = await seeds.claim(b.store.run, () => true);
    expect(claim).toBeDefined();
    const { taker } = takerOf(a, seeds);
    await grow(a);
    await expect
      .poll(() => {
        clock.advance(2_000);
        return seeds.refusals;
      })
      .toBeGreaterThan(0);
    await taker.stop();
    expect(await seeds.list(identity())).toEqual([]);

    await a.store.expel(b.store.run);
    const second = takerOf(a, seeds).taker;
    await expect
      .poll(() => {
        clock.advance(2_000);
        return seeds.list(identity());
      })
      .toHaveLength(1);
    await second.stop();
  });

  it("give up a copy under way when they end, and do not store it", async () => {
    const seeds = new MemorySeeds();
    const a = await cluster.open("a");
    const { store } = a;
    const events = new EventEmitter();
    const begun = once(events, "begun");
    const snapshot = async (_file: string, signal: AbortSignal) => {
      events.emit("begun");
      await once(signal, "abort");
      throw signal.reason;
    };
    const slow = {
      ...{ run: store.run, node: store.node, members: () => store.members() },
      ...{ catchUp: () => store.catchUp(), agree: () => store.agree(), snapshot },
      ...{ position: () => store.position(), problem: () => store.problem() },
    };
    const { taker } = takerOf({ store: slow, connection: a.connection }, seeds);
    await grow(a);
    clock.advance(2_000);
    await begun;
    await taker.stop();
    expect(await seeds.list(identity())).toEqual([]);
  });

  it("try again later if one could not be stored", async () => {
    const seeds = new MemorySeeds();
    const a = await cluster.open("a");
    const { taker } = takerOf(a, seeds);
    await grow(a);
    let attempts = 0;
    seeds.beforePut = () => {
      attempts += 1;
      if (attempts === 1) throw new Error("a test: the disk is full");
    };
    await expect
      .poll(() => {
        clock.advance(62_000);
        return seeds.list(identity());
      })
      .toHaveLength(1);
    expect(attempts).toBe(2);
    await taker.stop();
  });
});
