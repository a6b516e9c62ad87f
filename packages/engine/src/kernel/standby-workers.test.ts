import { describe, expect, it } from "vitest";
import { z } from "zod";
import { bindTrigger, type InMemoryWorker, inMemoryEngine } from "../testing/index.ts";
import { defineModule } from "./module.ts";

/** Provides the trigger type `bell`; `log` has each beginning and end of a binding. */
function bells() {
  const log: string[] = [];
  const module = defineModule({
    name: "svc-bell",
    summary: "Rings",
    config: z.unknown(),
    start(context) {
      context.provideTrigger({
        type: "bell",
        summary: "Rings",
        settings: z.object({ name: z.string() }),
        bind(binding) {
          log.push(`+ ${binding.settings.name} ${binding.functionId}`);
          return () => log.push(`- ${binding.settings.name} ${binding.functionId} ${binding.ended}`);
        },
      });
      return { stop: () => {} };
    },
  });
  return { module, log };
}

/** Resolves when the engine has handled all frames of the worker. */
async function handled(worker: InMemoryWorker): Promise<void> {
  worker.say({ type: "ping" });
  await worker.next((frame) => frame.type === "pong");
}

/** Registers a trigger whose result the worker gets when it is in service. */
async function askForTrigger(worker: InMemoryWorker, functionId: string, config: unknown): Promise<string> {
  const id = crypto.randomUUID();
  worker.say({ type: "registertrigger", id, trigger_type: "bell", function_id: functionId, config });
  await handled(worker);
  return id;
}

async function serve(worker: InMemoryWorker, id: string, handle: () => unknown): Promise<void> {
  worker.serve(id, handle);
  await handled(worker);
}

describe("a worker on standby", () => {
  it("gets a call only if no worker in service can run it", async () => {
    const engine = await inMemoryEngine();
    const [old, next] = [await engine.connectWorker(), await engine.connectWorker()];
    engine.kernel.standby.assign({ standby: [next.id, "ended"] });
    await serve(old, "f", () => "old");
    await serve(next, "f", () => "next");
    await serve(next, "added", () => "next");
    const called = async (id: string): Promise<unknown[]> => [await engine.call(id), await engine.call(id)];
    expect(await called("f")).toEqual(["old", "old"]);
    expect(await called("added")).toEqual(["next", "next"]);

    engine.kernel.standby.assign({ inService: [next.id], standby: [old.id] });

    expect(await called("f")).toEqual(["next", "next"]);
    next.close();
    expect(await called("f")).toEqual(["old", "old"]);
  });

  it("has its own triggers bound when it comes into service, after those that only the replaced one had", async () => {
    const { module, log } = bells();
    const engine = await inMemoryEngine({ modules: [module] });
    const [old, next] = [await engine.connectWorker(), await engine.connectWorker()];
    engine.kernel.standby.assign({ standby: [next.id] });
    await bindTrigger(old, "bell", "both", { name: "same" });
    await bindTrigger(old, "bell", "before", { name: "front" });
    await bindTrigger(next, "bell", "both", { name: "same" });
    const own = await askForTrigger(next, "after", { name: "front" });
    expect(engine.directory.triggerById(own)).toMatchObject({
      status: "inactive",
      reason: "another process of its worker is in service",
    });

    engine.kernel.standby.assign({ inService: [next.id], standby: [old.id] });
    old.close();

    expect(log).toEqual(["+ same both", "+ front before", "- front before withdrawn", "+ front after"]);
    expect(engine.directory.triggers().map(({ function_id }) => function_id)).toEqual(["both", "after"]);
  });

  it("gets the result of a trigger that only it registered when it comes into service, and none before", async () => {
    const engine = await inMemoryEngine({ modules: [bells().module] });
    const next = await engine.connectWorker();
    engine.kernel.standby.assign({ standby: [next.id] });
    const results = (): unknown[] =>
      next.received
        .map((frame) => JSON.parse(frame) as { type: string; function_id: string; status: string; reason: string })
        .flatMap(({ type, function_id, status, reason }) =>
          type === "triggerregistrationresult" ? [{ function_id, status, reason }] : [],
        );
    await serve(next, "f", () => null);
    next.say({ type: "registertrigger", id: "t1", trigger_type: "bell", function_id: "f", config: { name: "a" } });
    next.say({ type: "registertrigger", id: "t2", trigger_type: "none", function_id: "g", config: {} });
    await serve(next, "g", () => null);
    expect(results()).toEqual([]);

    engine.kernel.standby.assign({ inService: [next.id] });

    await serve(next, "g", () => null);
    expect(results()).toMatchObject([
      { function_id: "f", status: "active" },
      { function_id: "g", status: "inactive", reason: expect.stringContaining("no one provides") as string },
    ]);
  });

  it("serves a trigger type when it comes into service, and hands its triggers back if it never does", async () => {
    const engine = await inMemoryEngine();
    const [old, failed, next] = [
      await engine.connectWorker(),
      await engine.connectWorker(),
      await engine.connectWorker(),
    ];
    engine.kernel.standby.assign({ standby: [failed.id, next.id] });
    const got = (worker: InMemoryWorker): unknown[] =>
      worker.received
        .map((frame) => JSON.parse(frame) as { type: string; id: string })
        .flatMap(({ type, id }) => (type.endsWith("registertrigger") ? `${type} ${id}` : []));
    const provide = async (worker: InMemoryWorker): Promise<void> => {
      worker.say({ type: "registertriggertype", id: "hook", description: "" });
      await serve(worker, "none", () => null);
    };
    await provide(old);
    old.say({ type: "registertrigger", id: "h1", trigger_type: "hook", function_id: "f", config: {} });
    await provide(failed);
    await provide(next);
    failed.close();
    expect([got(old), got(next)]).toEqual([["registertrigger h1"], []]);

    next.say({ type: "registertrigger", id: "h2", trigger_type: "hook", function_id: "f", config: {} });
    await serve(next, "none", () => null);
    engine.kernel.standby.assign({ inService: [next.id], standby: [old.id] });
    await serve(old, "none", () => null);

    expect([got(old), got(next)]).toEqual([["registertrigger h1", "unregistertrigger h1"], ["registertrigger h1"]]);
  });

  it("leaves no trigger behind if it disconnects before it was in service", async () => {
    const { module, log } = bells();
    const engine = await inMemoryEngine({ modules: [module] });
    const [old, next] = [await engine.connectWorker(), await engine.connectWorker()];
    engine.kernel.standby.assign({ standby: [next.id] });
    await bindTrigger(old, "bell", "both", { name: "same" });
    await bindTrigger(next, "bell", "both", { name: "same" });
    await askForTrigger(next, "after", { name: "front" });

    next.close();

    expect(log).toEqual(["+ same both"]);
    expect(engine.directory.triggers().map(({ function_id }) => function_id)).toEqual(["both"]);
  });

  it("is idle when its last call in flight has ended", async () => {
    const engine = await inMemoryEngine();
    const worker = await engine.connectWorker();
    await serve(worker, "f", () => "done");
    await engine.kernel.standby.whenIdle([worker.id]);
    const order: string[] = [];
    worker.stall();
    const calls = ["first", "second"].map((name) => engine.call("f").then(() => order.push(name)));
    const idle = engine.kernel.standby.whenIdle([worker.id, "ended"]).then(() => order.push("idle"));
    worker.unstall();
    await Promise.all([...calls, idle]);
    expect(order.indexOf("idle")).toBeGreaterThan(0);
    expect(order).toHaveLength(3);
  });
});
