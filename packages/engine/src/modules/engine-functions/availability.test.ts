import { describe, expect, it } from "vitest";
import type { SessionAccess } from "../../access/session-access.ts";
import { accessTo, type InMemoryWorker, inMemoryEngine, manualClock } from "../../testing/index.ts";
import { type EngineInfo, engineFunctions } from "./index.ts";

const INFO = { version: "0.0.0" } as EngineInfo;

async function settled(worker: InMemoryWorker): Promise<void> {
  worker.say({ type: "ping" });
  await worker.next((frame) => frame.type === "pong");
}

/**
 * An engine with a worker whose function is bound to `type`. `events()` returns the events so far, after 50 ms have
 * passed.
 */
async function scene(
  type: string,
  client: { readonly features?: []; readonly version?: string; readonly access?: SessionAccess } = {},
) {
  const clock = manualClock();
  const engine = await inMemoryEngine({ modules: [engineFunctions(() => INFO)], clock });
  const listener = await engine.connectWorker({ name: "listener", ...client });
  const heard: Record<string, unknown>[] = [];
  listener.serve("hear", (data) => {
    heard.push(data as Record<string, unknown>);
  });
  listener.say({ type: "registertrigger", id: "t1", trigger_type: type, function_id: "hear", config: {} });
  await settled(listener);
  const events = async (): Promise<Record<string, unknown>[]> => {
    clock.advance(50);
    // The call is sent and its result arrives.
    await settled(listener);
    await settled(listener);
    return heard.splice(0);
  };
  await events();
  return { engine, clock, events };
}

const rowsIn = (event: Record<string, unknown> | undefined): { function_id: string }[] =>
  (event ?? { functions: [] }).functions as { function_id: string }[];
const idsIn = (event: Record<string, unknown> | undefined): string[] =>
  rowsIn(event).map(({ function_id }) => function_id);

describe("engine::functions-available", () => {
  it("is pushed once for all changes of a moment, with the functions as they are, internal ones too", async () => {
    const { engine, events } = await scene("engine::functions-available");
    const worker = await engine.connectWorker();
    for (const id of ["a", "b", "c"]) worker.say({ type: "registerfunction", id });
    await settled(worker);
    const heard = await events();
    expect(heard).toMatchObject([{ event: "functions_changed" }]);
    expect(idsIn(heard[0])).toEqual(expect.arrayContaining(["a", "b", "c", "hear", "engine::functions::list"]));
    worker.close();
    const [after] = await events();
    expect(idsIn(after)).not.toContain("a");
  });

  it("says nothing when the functions are the same afterwards, and nothing of the start", async () => {
    const { engine, events } = await scene("engine::functions-available");
    const worker = await engine.connectWorker();
    worker.say({ type: "registerfunction", id: "a" });
    await settled(worker);
    expect(await events()).toHaveLength(1);
    worker.close();
    const again = await engine.connectWorker();
    again.say({ type: "registerfunction", id: "a" });
    await settled(again);
    expect(await events()).toEqual([]);
  });

  it("has the rows that the hearing worker's client expects", async () => {
    const { engine, events } = await scene("engine::functions-available", { features: [], version: "0.11.6" });
    const worker = await engine.connectWorker();
    worker.say({ type: "registerfunction", id: "a" });
    await settled(worker);
    const [heard] = await events();
    const [row] = rowsIn(heard).filter(({ function_id }) => function_id === "a");
    expect(row).toEqual({
      function_id: "a",
      description: null,
      request_format: null,
      response_format: null,
      metadata: null,
    });
  });
});

describe("engine::workers-available", () => {
  it("tells of each worker that comes, says who it is, and goes, in order", async () => {
    const { engine, events } = await scene("engine::workers-available");
    const worker = await engine.connectWorker({ name: "shop" });
    await settled(worker);
    expect(await events()).toEqual([
      { event: "worker_connected", worker_id: worker.id },
      { event: "worker_metadata_updated", worker_id: worker.id },
    ]);
    worker.close();
    expect(await events()).toEqual([{ event: "worker_disconnected", worker_id: worker.id }]);
  });

  it("leaves out the command line, the console and modules", async () => {
    const { engine, events } = await scene("engine::workers-available");
    const cli = await engine.connectWorker({ kind: "cli" });
    await settled(cli);
    cli.close();
    expect(await events()).toEqual([]);
  });

  it("shows a restricted worker the end of workers that it could see, and of no others", async () => {
    const { engine, events } = await scene("engine::workers-available", { access: accessTo(["shop::open"]) });
    const [stranger, shop] = [
      await engine.connectWorker({ name: "stranger" }),
      await engine.connectWorker({ name: "shop" }),
    ];
    stranger.say({ type: "registerfunction", id: "secret" });
    await settled(stranger);
    await settled(shop);
    expect(await events()).toEqual([]);
    // It becomes visible after it has connected.
    shop.say({ type: "registerfunction", id: "shop::open" });
    await settled(shop);
    await events();
    stranger.close();
    expect(await events()).toEqual([]);
    shop.close();
    expect(await events()).toEqual([{ event: "worker_disconnected", worker_id: shop.id }]);
  });

  it("shows a restricted worker the end of workers that were there before it", async () => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ modules: [engineFunctions(() => INFO)], clock });
    const [stranger, shop] = [
      await engine.connectWorker({ name: "stranger" }),
      await engine.connectWorker({ name: "shop" }),
    ];
    shop.say({ type: "registerfunction", id: "shop::open" });
    await settled(shop);
    const listener = await engine.connectWorker({ name: "listener", access: accessTo(["shop::open"]) });
    const heard: unknown[] = [];
    clock.advance(50);
    listener.serve("hear", (data) => void heard.push(data));
    listener.say({
      type: "registertrigger",
      id: "t1",
      trigger_type: "engine::workers-available",
      function_id: "hear",
      config: {},
    });
    await settled(listener);
    stranger.close();
    shop.close();
    clock.advance(50);
    await settled(listener);
    await settled(listener);
    expect(heard).toEqual([{ event: "worker_disconnected", worker_id: shop.id }]);
  });

  it("calls nobody while the worker that hears is away", async () => {
    const { engine, clock } = await scene("engine::workers-available");
    for (const session of engine.kernel.sessions.all()) session.drop("test");
    const worker = await engine.connectWorker();
    await settled(worker);
    const calls = engine.kernel.router.counts.calls;
    clock.advance(1_000);
    await settled(worker);
    expect(engine.kernel.router.counts.calls).toBe(calls);
  });
});
