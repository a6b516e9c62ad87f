import type { NodeListing } from "@svc-runtime/protocol/listings";
import { afterEach, describe, expect, it } from "vitest";
import { Connection } from "../../kernel/connection.ts";
import { InMemoryCluster } from "../../kernel/nodes/testing/in-memory-cluster.ts";
import { type InMemoryEngine, inMemoryEngine } from "../../testing/in-memory-engine.ts";
import { inMemoryPair } from "../../testing/in-memory-socket.ts";
import { manualClock } from "../../testing/manual-clock.ts";
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
  state: "up",
  callsInFlight: 2,
  durability: undefined,
  durabilityReason: undefined,
  stores: [],
};

async function nodesAt(engine: InMemoryEngine): Promise<readonly NodeListing[]> {
  const { nodes } = (await engine.call("engine::nodes::list", {})) as { readonly nodes: readonly NodeListing[] };
  return nodes;
}

it("an engine that is alone cannot be drained", async () => {
  const nodes = { own: () => FACTS, gone: () => [], drain: undefined };
  const engine = await inMemoryEngine({ modules: [engineFunctions(() => ({ ...INFO, instance_id: "r" }), { nodes })] });
  await expect(engine.call("engine::nodes::drain", { node: "alone" })).rejects.toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining("not in a cluster"),
  });
  await engine.stop();
});

it("engine::nodes::list lists an engine that is alone", async () => {
  const nodes = { own: () => FACTS, gone: () => [], drain: undefined };
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
            own: () => {
              const state = engine.kernel.nodes?.drain.state ?? "up";
              return { ...FACTS, name, state, durability: "durable", stores, ...more };
            },
            gone: () => engine.kernel.nodes?.gone() ?? [],
            drain: {
              start: async (timeoutMs, options) => engine.kernel.nodes?.drain.start(timeoutMs, options),
              end: () => engine.kernel.nodes?.drain.end(),
            },
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
      const { functions } = (await engine.call("engine::functions::list", { prefix: "greet" })) as {
        functions: unknown[];
      };
      expect(functions).toMatchObject([{ workers: [{ id: worker.id, node: "b" }] }]);
    }
    const alone = await inMemoryEngine({ modules: [engineFunctions(() => ({ ...INFO, instance_id: "run-1" }))] });
    const other = await alone.connectWorker({ name: "greeter" });
    expect(alone.directory.workerById(other.id)).not.toHaveProperty("node");
    await alone.stop();
  });

  it("has a row for each engine, with logs and clocks compared, and remembers one that is gone", async () => {
    const a = await start("a", 10);
    await start("b", 7, 5_000, { durability: "relaxed", durabilityReason: "no sync" });
    const c = await start("c", 9, 0, { state: "draining" });

    const offsets = [...(a.kernel.nodes?.peers() ?? [])].map(({ name, clockOffsetMs }) => [name, clockOffsetMs]);
    expect(Object.fromEntries(offsets)).toEqual({ b: 5_000, c: 0 });
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

  it("has no row for one that is gone if another engine has its name", async () => {
    const a = await start("a", 1);
    const b = await start("b", 1);
    cluster.kill(await start("b", 1));
    cluster.kill(await start("a", 1));
    await cluster.advance(10_000);
    expect((await nodesAt(a)).map(({ name, state }) => [name, state])).toEqual([
      ["a", "up"],
      ["b", "up"],
    ]);
    cluster.kill(b);
    await cluster.advance(10_000);
    expect((await nodesAt(a)).map(({ name, state }) => [name, state])).toContainEqual(["b", "gone"]);
  });

  it("gives the workers of an engine to others, and takes them again", async () => {
    const [a, b] = [await start("a", 1), await start("b", 1)];
    const atA = await a.connectWorker({ name: "at a" });
    const atB = await b.connectWorker({ name: "at b" });
    atA.serve("f", () => "a");
    atB.serve("f", () => "b");
    await cluster.exchange();
    expect(await a.call("f", null)).toBe("a");

    await expect(a.call("engine::nodes::drain", { node: "c" })).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("the cluster has no engine c; those that are there: a, b"),
    });
    await b.call("engine::nodes::drain", { node: "a" });
    await atA.next(({ type }) => type === "draining");
    // A client of a still gets answers, from b.
    expect(await atA.call("f", null)).toMatchObject({ result: "b" });
    expect(a.directory.isProvidedHere("f")).toBe(false);
    expect((await nodesAt(b)).map(({ name, state }) => [name, state])).toEqual([
      ["a", "draining"],
      ["b", "up"],
    ]);

    // It knows no other engine.
    await cluster.advance(1_200);
    expect(await atA.closed).toMatchObject({ code: 1012 });
    expect((await nodesAt(b))[0]).toMatchObject({ name: "a", state: "drained", report: { workers: 0 } });
    expect(await a.call("f", null)).toBe("b");

    const again = await a.connectWorker({ name: "again" });
    again.serve("f", () => "again");
    await cluster.exchange();
    expect(await a.call("f", null)).toBe("b");
    await a.call("engine::nodes::undrain", { node: "a" });
    await cluster.exchange();
    expect(await a.call("f", null)).toBe("again");
    expect((await nodesAt(b))[0]).toMatchObject({ state: "up" });
    const cli = await a.connectWorker({ kind: "cli" });
    await a.call("engine::nodes::drain", { node: "a", timeout_ms: 0 });
    expect(await cli.call("f", null)).toMatchObject({ result: "b" });
  });

  it("is not waited for if there is no other engine for its workers", async () => {
    const [a, b] = [await start("a", 1), await start("b", 1)];
    const worker = await a.connectWorker();
    worker.say({ type: "registerfunction", id: "f" });
    await cluster.exchange();
    void a.call("f", null).catch(() => {});
    await worker.next(({ type }) => type === "invokefunction");
    void b.kernel.nodes?.drain.finish(60_000);
    await cluster.exchange();
    await a.kernel.nodes?.drain.finish(60_000);
    expect(a.kernel.nodes?.drain.state).toBe("draining");
  });

  it("drains the last engine that is up only when forced", async () => {
    const [a, b] = [await start("a", 1), await start("b", 1)];
    await a.call("engine::nodes::drain", { node: "b" });
    await cluster.exchange();
    for (const engine of [a, b])
      await expect(engine.call("engine::nodes::drain", { node: "a" })).rejects.toMatchObject({
        code: "invalid_request",
        message:
          "the engine a refused: no other engine of the cluster stays up (the others are drained or draining, or do not answer), so there is none for its workers; to drain it nevertheless, set `force` (of svc: --force)",
      });
    expect(a.kernel.nodes?.drain.state).toBe("up");
    // A new time limit for one that drains already is always taken.
    await a.call("engine::nodes::drain", { node: "b", timeout_ms: 1_000 });
    await b.call("engine::nodes::drain", { node: "a", force: true });
    expect(a.kernel.nodes?.drain.state).not.toBe("up");
  });

  it("is drained also if the other engine is slow to say that it stays", async () => {
    const [a, b] = [await start("a", 1), await start("b", 1)];
    const slow = b.kernel.identity.instanceId;
    cluster.network.faults.delayMs = (from) => (from === slow ? 1_000 : 0);
    const drained = a.call("engine::nodes::drain", { node: "a" });
    await cluster.advance(1_500);
    cluster.network.faults.delayMs = () => 0;
    expect(await drained).toEqual({ node: "a" });
  });

  it("is not drained if it is taken back while it waits for another engine to say that it stays", async () => {
    const [a, b] = [await start("a", 1), await start("b", 1)];
    const slow = b.kernel.identity.instanceId;
    cluster.network.faults.delayMs = (from) => (from === slow ? 1_000 : 0);
    const refused = expect(a.call("engine::nodes::drain", { node: "a" })).rejects.toMatchObject({
      code: "invalid_request",
      message: "the engine a refused: it was taken back before it was drained",
    });
    expect(await a.call("engine::nodes::undrain", { node: "a" })).toEqual({ node: "a" });
    await cluster.advance(1_500);
    await refused;
    expect(a.kernel.nodes?.drain.state).toBe("up");
    cluster.network.faults.delayMs = () => 0;
    await cluster.advance(1_000);
    expect(await a.call("engine::nodes::drain", { node: "a" })).toEqual({ node: "a" });
  });

  it.each([2, 3])("drains all but one of %d engines that are to be drained at the same time", async (count) => {
    const names = ["a", "b", "c"].slice(0, count);
    const engines = new Map<string, InMemoryEngine>();
    for (const name of names) engines.set(name, await start(name, 1));
    const results = await Promise.allSettled(
      names.map((node) => engines.get(node)?.call("engine::nodes::drain", { node })),
    );
    const refusals = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
    expect(refusals).toMatchObject([{ code: "invalid_request", message: expect.stringContaining("no other engine") }]);
    const states = [...engines.values()].map(({ kernel }) => kernel.nodes?.drain.state);
    expect(states.filter((state) => state === "up")).toHaveLength(1);
    // The one that was refused is not drained later either, and the others can be taken back.
    const [stays = ""] = names.filter((_, at) => results[at]?.status === "rejected");
    await expect(engines.get(stays)?.call("engine::nodes::drain", { node: stays })).rejects.toThrow("no other engine");
    for (const node of names) await engines.get(node)?.call("engine::nodes::undrain", { node });
    await cluster.exchange();
    await engines.get(stays)?.call("engine::nodes::drain", { node: stays });
  });

  it("says why an engine was not drained, or that nobody knows whether it is", async () => {
    const a = await start("a", 1);
    await cluster.start("b");
    const c = await start("c", 1);
    await expect(a.call("engine::nodes::drain", { node: "b" })).rejects.toMatchObject({
      code: "invalid_request",
      message: expect.stringContaining("the engine b refused: no module answers"),
    });
    cluster.kill(c);
    const silent = expect(a.call("engine::nodes::drain", { node: "c" })).rejects.toMatchObject({
      code: "call_timeout",
      details: { outcome: "unknown" },
    });
    await cluster.advance(3_000);
    await silent;
  });

  it("is drained at its time limit though workers that know no other engine come back to it", async () => {
    const [a] = [await start("a", 1), await start("b", 1)];
    let isOver = false;
    const comeBack = async (): Promise<void> => {
      while (!isOver) {
        const worker = await a.connectWorker();
        worker.serve("f", () => "f");
        await worker.closed;
      }
    };
    const first = comeBack();
    await cluster.exchange();
    await a.call("engine::nodes::drain", { node: "a", timeout_ms: 2_150 });
    await cluster.advance(500);
    // Whenever one is disconnected, the other one is there.
    const second = comeBack();
    await cluster.advance(2_000);
    expect(a.kernel.nodes?.drain.state).toBe("draining");
    await cluster.advance(1_000);
    expect(a.kernel.nodes?.drain.state).toBe("drained");
    isOver = true;
    await cluster.advance(1_200);
    await Promise.all([first, second]);
  });

  it("stops at its time limit, whatever others ask it meanwhile", async () => {
    const [a] = [await start("a", 1), await start("b", 1)];
    // The last one stays for a moment after the time limit.
    for (const name of ["first", "last"]) (await a.connectWorker({ name })).serve("f", () => name);
    await cluster.exchange();
    let isOver = false;
    const finished = a.kernel.nodes?.drain.finish(450).then(() => {
      isOver = true;
    });
    for (const request of ["drain", "undrain"])
      await expect(a.call(`engine::nodes::${request}`, { node: "a" })).rejects.toMatchObject({
        code: "invalid_request",
        message: "the engine a refused: it is being stopped",
      });
    await cluster.advance(400);
    expect(isOver).toBe(false);
    await cluster.advance(100);
    expect(isOver).toBe(true);
    await finished;
  });

  it("gives a connection time to introduce itself, whatever the wall clock does", async () => {
    await start("b", 1);
    const clock = manualClock();
    const a = await cluster.start("a", { clock });
    const { socket, client } = inMemoryPair();
    new Connection(a.kernel, socket);
    const started = a.kernel.nodes?.drain.start(60_000, { force: false });
    await cluster.exchange();
    await started;
    clock.jumpTo(clock.now() + 3_600_000);
    clock.advance(900);
    expect(a.kernel.sessions.size).toBe(1);
    clock.advance(100);
    expect(await client.closed).toMatchObject({ code: 1012 });
  });

  it("keeps the last worker of a function until another one has arrived at another engine", async () => {
    const [a, b] = [await start("a", 1), await start("b", 1)];
    const first = await a.connectWorker({ name: "first" });
    const last = await a.connectWorker({ name: "last" });
    first.serve("f", () => "first");
    last.serve("f", () => "last");
    await cluster.exchange();
    await a.call("engine::nodes::drain", { node: "a" });
    await first.next(({ type }) => type === "draining");
    await cluster.advance(1_200);
    expect(await first.closed).toMatchObject({ code: 1012 });
    for (const engine of [a, b]) expect(await engine.call("f", null)).toBe("last");
    const arrived = await b.connectWorker({ name: "first" });
    arrived.serve("f", () => "arrived");
    await cluster.advance(200);
    await last.next(({ type }) => type === "draining");
    expect(await a.call("f", null)).toBe("arrived");
  });

  it("finishes what its workers run, also if that needs others of its workers, until the time is over", async () => {
    const [a, b] = [await start("a", 1), await start("b", 1)];
    const worker = await a.connectWorker();
    worker.serve("inner", () => "inner");
    worker.say({ type: "registerfunction", id: "outer" });
    await cluster.exchange();
    const outer = a.call("outer", null);
    const { invocation_id } = await worker.next(({ type }) => type === "invokefunction");
    const late = b.call("outer", null);
    const lateFails = expect(late).rejects.toMatchObject({ code: "invocation_stopped" });
    await worker.next(({ type }) => type === "invokefunction");

    await b.call("engine::nodes::drain", { node: "a", timeout_ms: 5_000 });
    expect(await worker.call("inner", null)).toMatchObject({ result: "inner" });
    await expect(b.call("inner", null)).rejects.toMatchObject({ code: "draining", retryable: true });
    worker.say({ type: "invocationresult", invocation_id, function_id: "outer", result: "done" });
    expect(await outer).toBe("done");
    await cluster.advance(4_500);
    expect((await nodesAt(a))[0]).toMatchObject({ state: "draining" });
    await cluster.advance(1_000);
    await lateFails;
    expect((await nodesAt(a))[0]).toMatchObject({ state: "drained" });
  });
});
