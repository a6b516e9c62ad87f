import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type InMemoryEngine, type InMemoryWorker, inMemoryEngine, manualClock } from "../testing/index.ts";
import { defineModule, type TriggerBinding } from "./module.ts";

/** A module that provides the trigger type `bell` and can fire its bindings. */
function bellModule() {
  const bindings = new Map<string, TriggerBinding<{ name: string }>>();
  const module = defineModule({
    name: "svc-bell",
    summary: "Rings",
    config: z.unknown(),
    start(context) {
      context.provideTrigger({
        type: "bell",
        summary: "Rings",
        settings: z.object({ name: z.string(), condition_function_id: z.string().optional() }),
        bind(binding) {
          if (binding.settings.name === "cracked") throw new Error("this bell is cracked");
          bindings.set(binding.id, binding);
          return () => bindings.delete(binding.id);
        },
      });
      return { stop: () => {} };
    },
  });
  return { module, bindings };
}

async function settled(worker: InMemoryWorker): Promise<void> {
  worker.say({ type: "ping" });
  await worker.next((frame) => frame.type === "pong");
}
const bind = (worker: InMemoryWorker, id: string, functionId: string, config: unknown, more: object = {}): void =>
  worker.say({ type: "registertrigger", id, trigger_type: "bell", function_id: functionId, config, ...more });
const statuses = (engine: InMemoryEngine): unknown[] =>
  engine.directory.triggers().map(({ id, status }) => [id, status]);

describe("a trigger of a module's type", () => {
  it("has a key that equal requests share, also in the next run, and tells its module how it ended", async () => {
    const clock = manualClock();
    const keys: string[] = [];
    const endings: unknown[] = [];
    const module = defineModule({
      name: "svc-bell",
      summary: "Rings",
      config: z.unknown(),
      start(context) {
        const bind = (binding: TriggerBinding<unknown>) => {
          keys.push(binding.key);
          return () => endings.push(binding.ended);
        };
        context.provideTrigger({ type: "bell", summary: "Rings", settings: z.unknown(), bind });
        return { stop: () => {} };
      },
    });
    const engine = await inMemoryEngine({ modules: [module], clock });
    const worker = await engine.connectWorker();
    bind(worker, "t1", "ring", { name: "front", loud: true });
    bind(worker, "t2", "other", {});
    await settled(worker);
    worker.say({ type: "unregistertrigger", id: "t1" });
    await settled(worker);
    bind(worker, "t3", "ring", { loud: true, name: "front" });
    await settled(worker);
    expect(keys[2]).toBe(keys[0]);
    expect(keys[1]).not.toBe(keys[0]);
    worker.close();
    await worker.closed;
    const second = await engine.connectWorker();
    bind(second, "t2", "other", {});
    await settled(second);
    clock.advance(60_000);
    expect(endings).toEqual(["withdrawn", "lapsed"]);
    await engine.stop();
    expect(endings).toEqual(["withdrawn", "lapsed", undefined]);
  });

  it("is given up when the last trusted worker takes its request back itself, not when that worker goes", async () => {
    const clock = manualClock();
    const seen: unknown[] = [];
    const module = defineModule({
      name: "svc-bell",
      summary: "Rings",
      config: z.unknown(),
      start(context) {
        const bind = (binding: TriggerBinding<unknown>) => () => seen.push([binding.ended, binding.isGivenUp]);
        context.provideTrigger({ type: "bell", summary: "Rings", settings: z.unknown(), bind });
        return { stop: () => {} };
      },
    });
    const engine = await inMemoryEngine({ modules: [module], clock });
    const [one, two] = [await engine.connectWorker(), await engine.connectWorker()];
    for (const [at, worker] of [one, two].entries()) {
      bind(worker, `t${at}`, "ring", {});
      await settled(worker);
    }
    one.say({ type: "unregistertrigger", id: "t0" });
    await settled(one);
    two.close();
    await two.closed;
    clock.advance(60_000);
    expect(seen).toEqual([["lapsed", false]]);
    bind(one, "t2", "ring", {});
    one.say({ type: "unregistertrigger", id: "t2" });
    await settled(one);
    expect(seen[1]).toEqual(["withdrawn", true]);
  });

  it("is answered, listed as active, and fires the function with its metadata", async () => {
    const { module, bindings } = bellModule();
    const engine = await inMemoryEngine({ modules: [module] });
    const worker = await engine.connectWorker();
    worker.serve("ring", (data, frame) => ({ data, metadata: frame.metadata }));
    bind(worker, "t1", "ring", { name: "front" }, { metadata: { loud: true } });
    expect(await worker.next((frame) => frame.type === "triggerregistrationresult")).toMatchObject({
      id: "t1",
      status: "active",
    });
    const { Payload } = await import("@svc-runtime/protocol");
    const answer = await bindings.get("t1")?.fire(Payload.fromValue("ding"));
    expect(answer?.value()).toEqual({ data: "ding", metadata: { loud: true } });
  });

  it("is refused with the reason when its config does not fit, and stays listed in error", async () => {
    const { module } = bellModule();
    const engine = await inMemoryEngine({ modules: [module] });
    const worker = await engine.connectWorker();
    bind(worker, "t1", "ring", { nome: "front" });
    const answer = await worker.next((frame) => frame.type === "triggerregistrationresult");
    expect(answer).toMatchObject({
      status: "error",
      error: { code: "trigger_registration_failed", message: expect.stringContaining("`name`") },
    });
    bind(worker, "t2", "ring", { name: "cracked" });
    expect(await worker.next((frame) => frame.id === "t2")).toMatchObject({
      error: { message: "this bell is cracked" },
    });
    expect(statuses(engine)).toEqual([
      ["t1", "error"],
      ["t2", "error"],
    ]);
  });

  it("is silent on success towards published clients, and says failures", async () => {
    const { module } = bellModule();
    const engine = await inMemoryEngine({ modules: [module] });
    const worker = await engine.connectWorker({ features: [] });
    bind(worker, "t1", "ring", { name: "front" });
    bind(worker, "t2", "ring", {});
    const first = await worker.next((frame) => frame.type === "triggerregistrationresult");
    expect(first.id).toBe("t2");
    expect(first).not.toHaveProperty("status");
  });

  it("waits for its type, says what to add, and comes alive when the type appears", async () => {
    const { module, bindings } = bellModule();
    const engine = await inMemoryEngine({ modules: [module], config: {} });
    const worker = await engine.connectWorker();
    worker.serve("ring", () => "ok");
    bind(worker, "t1", "ring", { name: "front" });
    expect(await worker.next((frame) => frame.id === "t1")).toMatchObject({
      status: "inactive",
      reason: expect.stringContaining("no one provides the trigger type bell"),
    });
    await engine.applyModules([{ name: "svc-bell", config: undefined }]);
    expect(await worker.next((frame) => frame.id === "t1")).toMatchObject({ status: "active" });
    await engine.applyModules([]);
    expect(bindings.size).toBe(0);
    expect(statuses(engine)).toEqual([["t1", "inactive"]]);
  });

  it("is inactive while no live worker provides its function", async () => {
    const { module } = bellModule();
    const engine = await inMemoryEngine({ modules: [module] });
    const owner = await engine.connectWorker();
    const provider = await engine.connectWorker();
    bind(owner, "t1", "ring", { name: "front" });
    await settled(owner);
    expect(engine.directory.triggers()).toMatchObject([{ status: "inactive", reason: "no live worker provides ring" }]);
    provider.say({ type: "registerfunction", id: "ring" });
    await settled(provider);
    expect(statuses(engine)).toEqual([["t1", "active"]]);
  });

  it("asked for by two workers is one binding, and stays while one of them stays", async () => {
    const { module, bindings } = bellModule();
    const engine = await inMemoryEngine({ modules: [module] });
    const first = await engine.connectWorker();
    const second = await engine.connectWorker();
    first.say({ type: "registerfunction", id: "ring" });
    second.say({ type: "registerfunction", id: "ring" });
    bind(first, "t1", "ring", { name: "front" });
    await settled(first);
    bind(second, "t2", "ring", { name: "front" });
    await settled(second);
    expect(bindings.size).toBe(1);
    first.close();
    expect(statuses(engine)).toEqual([["t1", "active"]]);
    expect(engine.directory.triggerById("t2")?.id).toBe("t1");
    second.say({ type: "unregistertrigger", id: "t2" });
    await settled(second);
    expect(bindings.size).toBe(0);
  });

  it("is kept as inactive for 60 s after its worker went, and an equal request makes it active again", async () => {
    const clock = manualClock();
    const { module, bindings } = bellModule();
    const engine = await inMemoryEngine({ modules: [module], clock });
    const worker = await engine.connectWorker();
    worker.say({ type: "registerfunction", id: "ring" });
    bind(worker, "t1", "ring", { name: "front" });
    await settled(worker);
    worker.close();
    clock.advance(59_000);
    expect(statuses(engine)).toEqual([["t1", "inactive"]]);
    expect(bindings.size).toBe(1);
    const again = await engine.connectWorker();
    again.say({ type: "registerfunction", id: "ring" });
    bind(again, "t9", "ring", { name: "front" });
    await settled(again);
    clock.advance(120_000);
    expect(statuses(engine)).toEqual([["t1", "active"]]);
    again.close();
    clock.advance(60_000);
    expect(statuses(engine)).toEqual([]);
    expect(bindings.size).toBe(0);
  });

  it("of a configured worker is kept until the worker has come back without it, or left the config", async () => {
    const clock = manualClock();
    const { module } = bellModule();
    const engine = await inMemoryEngine({ modules: [module], clock });
    const { triggers } = engine.kernel;
    const worker = await engine.connectWorker();
    triggers.claim(worker.id, "bell-worker");
    bind(worker, "t1", "ring", { name: "front" });
    bind(worker, "t2", "ring", { name: "back" });
    await settled(worker);
    worker.close();
    clock.advance(3_600_000);
    expect(statuses(engine)).toHaveLength(2);
    const again = await engine.connectWorker();
    triggers.claim(again.id, "bell-worker");
    bind(again, "t3", "ring", { name: "front" });
    await settled(again);
    triggers.settled("bell-worker");
    expect(engine.directory.triggers().map(({ config }) => config)).toEqual([{ name: "front" }]);
    again.close();
    triggers.release("bell-worker");
    expect(statuses(engine)).toEqual([]);
  });

  it("replayed with its id and another config replaces what it stood for", async () => {
    const { module, bindings } = bellModule();
    const engine = await inMemoryEngine({ modules: [module] });
    const worker = await engine.connectWorker();
    bind(worker, "t1", "ring", { name: "front" });
    bind(worker, "t1", "ring", { name: "back" });
    bind(worker, "t1", "ring", { name: "back" });
    await settled(worker);
    expect(engine.directory.triggers().map(({ config }) => config)).toEqual([{ name: "back" }]);
    expect(bindings.size).toBe(1);
    worker.say({ type: "unregistertrigger", id: "t1" });
    await settled(worker);
    expect(bindings.size).toBe(0);
  });

  it("asks its condition function; only the JSON value false blocks", async () => {
    const { module, bindings } = bellModule();
    const engine = await inMemoryEngine({ modules: [module] });
    const { Payload } = await import("@svc-runtime/protocol");
    const worker = await engine.connectWorker();
    const answers: unknown[] = [false, null, 0, "false", {}];
    worker.serve("may", () => answers.shift());
    bind(worker, "t1", "ring", { name: "front", condition_function_id: "may" });
    await settled(worker);
    const passed: (boolean | undefined)[] = [];
    for (let n = 0; n < 5; n++) passed.push(await bindings.get("t1")?.passes(Payload.null));
    expect(passed).toEqual([false, true, true, true, true]);
    worker.close();
    await expect(bindings.get("t1")?.passes(Payload.null)).rejects.toMatchObject({ code: "function_not_found" });
  });
});

describe("a trigger of a worker's type", () => {
  it("is delivered to the provider, whose refusal reaches the worker that asked", async () => {
    const engine = await inMemoryEngine();
    const provider = await engine.connectWorker({ name: "provider" });
    const asker = await engine.connectWorker({ name: "asker" });
    provider.say({ type: "registertriggertype", id: "bell", description: "rings" });
    await settled(provider);
    bind(asker, "t1", "ring", { name: "front" }, { metadata: { m: 1 } });
    expect(await provider.next((frame) => frame.type === "registertrigger")).toMatchObject({
      id: "t1",
      trigger_type: "bell",
      function_id: "ring",
      config: { name: "front" },
      metadata: { m: 1 },
    });
    provider.say({
      type: "triggerregistrationresult",
      id: "t1",
      trigger_type: "bell",
      function_id: "ring",
      error: { code: "trigger_registration_failed", message: "no such bell" },
    });
    expect(
      await asker.next((frame) => frame.type === "triggerregistrationresult" && frame.error !== undefined),
    ).toMatchObject({
      error: { message: "no such bell" },
    });
    expect(statuses(engine)).toEqual([["t1", "error"]]);
  });

  it("is taken from the provider at once when the asker goes, and handed to the next provider when the type returns", async () => {
    const engine = await inMemoryEngine();
    const provider = await engine.connectWorker();
    const asker = await engine.connectWorker();
    provider.say({ type: "registertriggertype", id: "bell", description: "rings" });
    await settled(provider);
    bind(asker, "t1", "ring", {});
    await provider.next((frame) => frame.type === "registertrigger");
    provider.close();
    expect(statuses(engine)).toEqual([["t1", "inactive"]]);
    const next = await engine.connectWorker();
    next.say({ type: "registertriggertype", id: "bell", description: "rings" });
    await next.next((frame) => frame.type === "registertrigger" && frame.id === "t1");
    asker.close();
    expect(await next.next((frame) => frame.type === "unregistertrigger")).toEqual({
      type: "unregistertrigger",
      id: "t1",
      trigger_type: "bell",
    });
    expect(statuses(engine)).toEqual([]);
  });

  it("can be answered only by the worker that provides the type", async () => {
    const engine = await inMemoryEngine();
    const provider = await engine.connectWorker();
    const forger = await engine.connectWorker();
    provider.say({ type: "registertriggertype", id: "bell", description: "rings" });
    await settled(provider);
    provider.say({ type: "registerfunction", id: "ring" });
    bind(provider, "t1", "ring", {});
    await settled(provider);
    forger.say({
      type: "triggerregistrationresult",
      id: "t1",
      trigger_type: "bell",
      function_id: "ring",
      error: { code: "x", message: "forged" },
    });
    await settled(forger);
    expect(statuses(engine)).toEqual([["t1", "active"]]);
  });

  it("cannot take over a type of the engine", async () => {
    const { module } = bellModule();
    const engine = await inMemoryEngine({ modules: [module] });
    const worker = await engine.connectWorker();
    worker.say({ type: "registertriggertype", id: "bell", description: "mine" });
    expect(await worker.next((frame) => frame.type === "error")).toMatchObject({
      error: { code: "registration_refused", details: { id: "bell" } },
    });
  });
});
