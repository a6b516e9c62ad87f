import { expect, it } from "vitest";
import { TestCluster, type TestNode } from "./testing/cluster.ts";

const cluster = new TestCluster();

/** Returns numbers in [0, 1) that depend only on the seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

it.each(Array.from({ length: 3 }, (_, index) => index + 1))(
  "replicas are equal after random writes, faults and restarts, and have what was acknowledged (seed %i)",
  async (seed) => {
    const next = random(seed);
    const faults = {
      onAppend: () => (next() < 0.2 ? "ackLost" : next() < 0.1 ? "rejectedUnstored" : "none") as "none",
      deliveries: () => (next() < 0.2 ? 2 : 1),
    };
    const open = (name: string): Promise<TestNode> => cluster.open(name, { faults, fingerprintEvery: 10 });
    const nodes = [await open("a"), await open("b"), await open("c")];
    const acknowledged: string[] = [];
    const pending: Promise<unknown>[] = [];
    const asked = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
      const index = Math.floor(next() * nodes.length);
      const node = nodes[index] as TestNode;
      const writes = Array.from({ length: 1 + Math.floor(next() * 4) }, (_, item) => {
        const text = `${round}.${item}`;
        asked.add(text);
        const name = next() < 0.2 ? "addThenRefuse" : next() < 0.3 ? "addLater" : "addNumbered";
        return node.store.call(name, next() < 0.05 ? text + "x".repeat(600_000) : text).then(
          () => acknowledged.push(text),
          () => {},
        );
      });
      pending.push(...writes);
      const chance = next();
      if (chance < 0.1) cluster.log.forgetIds();
      if (chance > 0.9) {
        await node.store.abort();
        nodes[index] = await open("abc"[index] ?? "");
      }
      if (next() < 0.7) await Promise.all(writes);
    }
    await Promise.all(pending);
    const [first = [], ...others] = await Promise.all(nodes.map(({ store }) => store.call("texts", null)));
    const found = first.map((text) => text.replaceAll("x", "").replace(/#\d+$/, ""));
    expect(new Set(found).size).toBe(found.length);
    expect(acknowledged.filter((text) => !found.includes(text))).toEqual([]);
    expect(found.filter((text) => !asked.has(text))).toEqual([]);
    for (const texts of others) expect(texts).toEqual(first);
    expect(nodes.map(({ store }) => store.damage())).toEqual([undefined, undefined, undefined]);
    expect(await cluster.hashes(...nodes)).toHaveLength(1);
  },
);
