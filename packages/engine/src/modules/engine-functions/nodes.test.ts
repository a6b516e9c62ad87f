import type { NodeListing } from "@svc-runtime/protocol/listings";
import { afterEach, describe, expect, it } from "vitest";
import { InMemoryCluster } from "../../kernel/nodes/testing/in-memory-cluster.ts";
import { type InMemoryEngine, inMemoryEngine } from "../../testing/in-memory-engine.ts";
import { type EngineInfo, engineFunctions } from "./index.ts";
import type { NodeFacts } from "./nodes.ts";

const INFO = {
  version: "1.2.3",
  pid: 7,
  started_at_ms: 1,
  addresses: { bridge: "ws://localhost:1", http: "http://localhost:2", realtime: "ws://localhost:3" },
} as EngineInfo;
const FACTS: NodeFacts = {
  name: "alone",
  isDraining: false,
  callsInFlight: 2,
  durability: undefined,
  durabilityReason: undefined,
  stores: [],
};

async function nodesAt(engine: InMemoryEngine): Promise<readonly NodeListing[]> {
  const { nodes } = (await engine.call("engine::nodes::list", {})) as { readonly nodes: readonly NodeListing[] };
  return nodes;
}

it("engine::nodes::list lists an engine that is alone", async () => {
  const nodes = { own: () => FACTS, gone: () => [] };
  const engine = await inMemoryEngine({
    modules: [engineFunctions(() => ({ ...INFO, instance_id: "run-1" }), { nodes })],
  });
  await engine.connectWorker();
  expect(await nodesAt(engine)).toEqual([
    {
      ...{ name: "alone", run: "run-1", self: true, state: "up", reason: null, gone_at_ms: null },
      report: {
        ...{ version: "1.2.3", pid: 7, addresses: INFO.addresses, started_at_ms: 1 },
        ...{ workers: 1, calls_in_flight: 2, clock_offset_ms: 0 },
        ...{ durability: null, durability_reason: null, stores: [] },
      },
    },
  ]);
  await engine.stop();
});

describe("engine::nodes::list in a cluster", () => {
  const cluster = new InMemoryCluster();
  afterEach(() => cluster.stop());

  async function start(name: string, position: number, aheadMs = 0, more: Partial<NodeFacts> = {}) {
    const stores = [{ store: "queue", position, problem: undefined }];
    const engine: InMemoryEngine = await cluster.start(name, {
      aheadMs,
      modules: [
        engineFunctions(() => ({ ...INFO, instance_id: engine.kernel.identity.instanceId }), {
          nodes: {
            own: () => ({ ...FACTS, name, durability: "durable", stores, ...more }),
            gone: () => engine.kernel.nodes?.gone() ?? [],
          },
        }),
      ],
    });
    return engine;
  }

  it("is named by the workers that are connected to it", async () => {
    const [a, b] = [await start("a", 1), await start("b", 1)];
    const worker = await b.connectWorker({ name: "greeter" });
    worker.serve("greet", () => "hello");
    await cluster.exchange();
    for (const engine of [a, b]) {
      const { workers } = (await engine.call("engine::workers::list", { search: "greeter" })) as { workers: unknown[] };
      expect(workers).toMatchObject([{ id: worker.id, node: "b" }]);
    }
    const alone = await inMemoryEngine({ modules: [engineFunctions(() => ({ ...INFO, instance_id: "run-1" }))] });
    const other = await alone.connectWorker({ name: "greeter" });
    expect(alone.directory.workerById(other.id)).not.toHaveProperty("node");
    await alone.stop();
  });

  it("has a row for each engine, with logs and clocks compared, and remembers one that is gone", async () => {
    const a = await start("a", 10);
    await start("b", 7, 5_000, { durability: "relaxed", durabilityReason: "no sync" });
    const c = await start("c", 9, 0, { isDraining: true });

    const [first, second, third] = await nodesAt(a);
    expect(first).toMatchObject({ name: "a", self: true, state: "up", report: { clock_offset_ms: 0 } });
    expect(second).toMatchObject({
      ...{ name: "b", self: false, state: "up" },
      report: {
        ...{ clock_offset_ms: 5_000, durability: "relaxed", durability_reason: "no sync" },
        stores: [{ store: "queue", position: 7, behind: 3, problem: null }],
      },
    });
    expect(third).toMatchObject({ name: "c", state: "draining", report: { stores: [{ behind: 1 }] } });

    cluster.kill(c);
    const asked = nodesAt(a);
    await cluster.advance(500);
    expect((await asked)[2]).toMatchObject({ name: "c", state: "silent", report: null });
    // It goes while one of the questions waits for its answer.
    for (let turn = 0; turn < 12; turn++) {
      const asking = nodesAt(a);
      await cluster.advance(500);
      expect((await asking).map(({ name }) => name)).toEqual(["a", "b", "c"]);
    }
    expect((await nodesAt(a))[2]).toMatchObject({
      ...{ name: "c", state: "gone", report: null },
      reason: expect.stringContaining("for"),
    });
  });
});
