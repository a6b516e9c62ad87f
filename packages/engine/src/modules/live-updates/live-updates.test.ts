import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineModule } from "../../kernel/module.ts";
import { inMemoryEngine, manualClock } from "../../testing/index.ts";
import { liveUpdates } from "./index.ts";

interface StreamMessage {
  readonly type: string;
  readonly streamName: string;
  readonly id: string | null;
  readonly event: { readonly type: string; readonly data: unknown };
}

async function start() {
  const clock = manualClock();
  const engine = await inMemoryEngine({ modules: [liveUpdates], clock });
  const socket = engine.openSocket("/");
  const join = (streamName: string, more: object = {}): void =>
    socket.send(
      JSON.stringify({ type: "join", data: { subscriptionId: streamName, streamName, groupId: "all", ...more } }),
    );
  const take = (): StreamMessage[] => socket.take() as unknown as StreamMessage[];
  return { clock, engine, socket, join, take };
}

describe("live updates", () => {
  it("answer a join with what there is, then send changes, those of a tenth of a second together", async () => {
    const { clock, engine, join, take } = await start();
    join("svc.functions");
    join("svc.counters");
    const [functions, counters] = take();
    expect(functions).toMatchObject({
      type: "stream",
      streamName: "svc.functions",
      groupId: "all",
      event: { type: "sync" },
    });
    expect(counters).toMatchObject({ event: { data: [{ functions: 0, workers: 0 }] } });

    const worker = await engine.connectWorker({ name: "math" });
    worker.say({ type: "registerfunction", id: "math::add" });
    worker.say({ type: "registerfunction", id: "math::add", description: "adds" });
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    expect(take()).toEqual([]);
    clock.advance(100);
    expect(take()).toMatchObject([
      {
        streamName: "svc.functions",
        id: "math::add",
        event: { type: "create", data: { function_id: "math::add", description: "adds", worker_name: "math" } },
      },
      { streamName: "svc.counters", event: { type: "update", data: { functions: 1, workers: 1, triggers: 0 } } },
    ]);

    worker.close();
    clock.advance(100);
    expect(take().map(({ id, event }) => [id, event.type])).toEqual([
      ["math::add", "delete"],
      ["counters", "update"],
    ]);
  });

  it("create a worker when it connects, update it when it introduces itself again, and delete it at the end", async () => {
    const { clock, engine, join, take } = await start();
    join("svc.workers");
    take();
    const worker = await engine.connectWorker();
    clock.advance(100);
    const [connected] = take();
    expect(connected).toMatchObject({ event: { type: "create", data: { name: "worker" } } });
    await worker.call("engine::workers::register", { name: "math" });
    clock.advance(100);
    expect(take()).toMatchObject([{ id: connected?.id, event: { type: "update", data: { name: "math" } } }]);
    worker.close();
    clock.advance(100);
    expect(take()).toMatchObject([{ id: connected?.id, event: { type: "delete" } }]);
  });

  it("update a worker when it registers and unregisters", async () => {
    const { clock, engine, join, take } = await start();
    const worker = await engine.connectWorker({ name: "math" });
    join("svc.workers");
    take();
    const shown = async (frame: Readonly<Record<string, unknown>>): Promise<unknown> => {
      worker.say(frame);
      worker.say({ type: "ping" });
      await worker.next(({ type }) => type === "pong");
      clock.advance(100);
      return take().map(({ event: { type, data } }) => {
        const { functions, trigger_types, trigger_count } = data as Readonly<Record<string, unknown>>;
        return [type, functions, trigger_types, trigger_count];
      });
    };
    expect(await shown({ type: "registerfunction", id: "add" })).toEqual([["update", ["add"], [], 0]]);
    expect(await shown({ type: "unregisterfunction", id: "add" })).toEqual([["update", [], [], 0]]);
    expect(await shown({ type: "registertriggertype", id: "bell", description: "" })).toEqual([
      ["update", [], ["bell"], 0],
    ]);
    expect(await shown({ type: "unregistertriggertype", id: "bell" })).toEqual([["update", [], [], 0]]);
    const id = "8f6f1f5e-52f5-4d2e-9d52-6a7a3b8f1c11";
    const trigger = { id, trigger_type: "bell", function_id: "add", config: null };
    expect(await shown({ type: "registertrigger", ...trigger })).toEqual([["update", [], [], 1]]);
    expect(await shown({ type: "unregistertrigger", id })).toEqual([["update", [], [], 0]]);
  });

  it("of one item reach only who joined that item", async () => {
    const { clock, engine, join, take } = await start();
    join("svc.functions", { id: "b" });
    expect(take()).toMatchObject([{ id: "b", event: { type: "sync", data: null } }]);
    const worker = await engine.connectWorker();
    worker.say({ type: "registerfunction", id: "a" });
    worker.say({ type: "registerfunction", id: "b" });
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    clock.advance(100);
    expect(take().map(({ id }) => id)).toEqual(["b"]);
  });

  it("stop after a leave", async () => {
    const { clock, engine, join, take, socket } = await start();
    join("svc.workers");
    socket.send(
      JSON.stringify({
        type: "leave",
        data: { subscriptionId: "svc.workers", streamName: "svc.workers", groupId: "all" },
      }),
    );
    take();
    await engine.connectWorker();
    clock.advance(100);
    expect(take()).toEqual([]);
  });

  it("count the user-defined streams that have items or subscribers", async () => {
    const { clock, engine, join, take } = await start();
    const { publish } = engine.kernel.streams.serveUserStreams({
      snapshot: () => Promise.resolve({ json: "[]", versionOf: undefined }),
      authenticate: undefined,
      admit: () => Promise.resolve(undefined),
      left: () => {},
      groups: () => Promise.resolve([]),
    });
    join("svc.counters");
    take();
    publish({ stream: "todos", group: "g", id: "1", type: "create", json: "1", version: 1 });
    const other = engine.openSocket("/");
    other.say({ type: "join", data: { subscriptionId: "s", streamName: "empty", groupId: "g" } });
    await other.next();
    clock.advance(100);
    expect(take()).toMatchObject([{ streamName: "svc.counters", event: { data: { streams: 2 } } }]);
    other.close();
    publish({ stream: "todos", group: "g", id: "1", type: "delete", json: "1", version: 2 });
    clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(100);
    expect(take().at(-1)).toMatchObject({ event: { data: { streams: 0 } } });
  });

  it("count functions of workers, not those of modules", async () => {
    const shop = defineModule({
      ...{ name: "svc-shop", summary: "", config: z.unknown() },
      start({ provideFunction }) {
        provideFunction({ id: "shop::open", summary: "", input: z.unknown(), handle: () => null });
        return { stop: () => {} };
      },
    });
    const engine = await inMemoryEngine({ modules: [shop] });
    const worker = await engine.connectWorker({ name: "math" });
    worker.serve("math::add", () => 1);
    await worker.call("math::add", {});
    expect(engine.directory.functionById("shop::open")).toMatchObject({ internal: false });
    expect(engine.directory.counters()).toMatchObject({ functions: 1, workers: 1 });
  });
});
