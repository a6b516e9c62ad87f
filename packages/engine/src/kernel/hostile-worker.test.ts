import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type InMemoryWorker, inMemoryEngine, manualClock } from "../testing/index.ts";
import { defineModule } from "./module.ts";

const errorOf = (frame: Record<string, unknown>): Record<string, unknown> => frame.error as Record<string, unknown>;
const deep = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

async function isAlive(worker: InMemoryWorker): Promise<boolean> {
  worker.say({ type: "ping" });
  return (await worker.next((frame) => frame.type === "pong")).type === "pong";
}

describe("a hostile worker", () => {
  it.each([
    [
      "a trigger's config",
      (value: string) => `{"type":"registertrigger","id":"t","trigger_type":"tt","function_id":"f","config":${value}}`,
    ],
    [
      "a trigger's metadata",
      (value: string) =>
        `{"type":"registertrigger","id":"t","trigger_type":"tt","function_id":"f","config":{},"metadata":${value}}`,
    ],
    ["a function's format", (value: string) => `{"type":"registerfunction","id":"f","request_format":${value}}`],
    [
      "an error's details",
      (value: string) =>
        `{"type":"invocationresult","invocation_id":"${crypto.randomUUID()}","function_id":"f","error":{"code":"c","message":"m","details":{"v":${value}}}}`,
    ],
  ])("cannot bring the engine down with %s nested 50,000 deep", async (_what, frame) => {
    const engine = await inMemoryEngine();
    const worker = await engine.connectWorker();
    const bystander = await engine.connectWorker();
    worker.send(frame(deep(50_000)));
    expect(errorOf(await worker.next((received) => received.type === "error"))).toMatchObject({
      code: "invalid_message",
      message: expect.stringContaining("136"),
    });
    expect(await isAlive(worker)).toBe(true);
    expect(await isAlive(bystander)).toBe(true);
  });

  it("cannot fill the engine's memory with large registrations (K4)", async () => {
    const engine = await inMemoryEngine();
    const worker = await engine.connectWorker();
    const register = (index: number): void =>
      worker.say({ type: "registerfunction", id: `f${index}`, metadata: "x".repeat(1_000_000) });
    for (let index = 0; index < 67; index++) register(index);
    // Replaces a registration that is already counted.
    register(0);
    expect(await isAlive(worker)).toBe(true);
    expect(worker.received).toEqual([]);
    register(67);
    expect(await worker.next()).toMatchObject({
      type: "error",
      error: { code: "payload_too_large", details: { message_type: "registerfunction", id: "f67" } },
    });
    worker.say({ type: "registerfunction", id: "small" });
    worker.say({ type: "unregisterfunction", id: "f1" });
    register(67);
    expect(await isAlive(worker)).toBe(true);
    expect(worker.received).toEqual([]);
    expect(engine.directory.functionById("f67")).toBeDefined();
  });

  it("cannot fill it with triggers that it leaves behind: the oldest go first (K4)", async () => {
    const clock = manualClock();
    const bell = defineModule({
      name: "bell",
      summary: "",
      config: z.unknown(),
      start(context) {
        context.provideTrigger({ type: "bell", summary: "", settings: z.looseObject({}), bind: () => () => {} });
        return { stop: () => {} };
      },
    });
    const engine = await inMemoryEngine({ clock, modules: [bell] });
    for (const name of ["first", "second"]) {
      const worker = await engine.connectWorker({ name });
      for (let index = 0; index < 40; index++) {
        worker.say({
          type: "registertrigger",
          id: `${name}${index}`,
          trigger_type: "bell",
          function_id: "f",
          config: { name, index, text: "x".repeat(1_000_000) },
        });
      }
      expect(await isAlive(worker)).toBe(true);
      worker.close();
      await worker.closed;
    }
    const ids = engine.directory.triggers().map(({ id }) => id);
    expect(ids).toHaveLength(67);
    expect(ids.filter((id) => id.startsWith("second"))).toHaveLength(40);
    clock.advance(60_000);
    expect(engine.directory.triggers()).toEqual([]);
  });

  it("cannot cut off others with bytes that are not UTF-8", async () => {
    const engine = await inMemoryEngine();
    const callee = await engine.connectWorker();
    const caller = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "f" });
    await isAlive(callee);
    const head = Buffer.from(
      `{"type":"invokefunction","invocation_id":"${crypto.randomUUID()}","function_id":"f","data":"`,
    );
    caller.sendBinary(Buffer.concat([head, Buffer.alloc(3_000, 0xff), Buffer.from('"}')]));
    expect(errorOf(await caller.next((frame) => frame.type === "error"))).toMatchObject({
      code: "invalid_message",
      message: expect.stringContaining("UTF-8"),
    });
    expect(callee.received).toEqual([]);
  });

  it("cannot pile up void calls beyond the limit of calls in flight", async () => {
    const engine = await inMemoryEngine({ limits: { maxCallsInFlight: 10 } });
    const callee = await engine.connectWorker();
    const caller = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "f" });
    await isAlive(callee);
    for (let n = 0; n < 50; n++)
      caller.say({ type: "invokefunction", function_id: "f", data: n, action: { type: "void" } });
    await isAlive(caller);
    expect(engine.kernel.router.counts.inFlight).toBe(10);
    expect(errorOf(await caller.call("f")).code).toBe("too_many_calls");
  });

  it("that holds as many calls as it may gets no more", async () => {
    const engine = await inMemoryEngine({ limits: { maxCallsHeld: 3 } });
    const callee = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "f" });
    await isAlive(callee);
    for (let n = 0; n < 3; n++) engine.call("f").catch(() => {});
    await expect(engine.call("f")).rejects.toMatchObject({ code: "worker_overloaded" });
  });

  it("gets a small error instead of a large answer while it does not read", async () => {
    const engine = await inMemoryEngine();
    const callee = await engine.connectWorker();
    const caller = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "f" });
    await isAlive(callee);
    caller.stall();
    for (let n = 0; n < 7; n++)
      caller.say({ type: "invokefunction", invocation_id: crypto.randomUUID(), function_id: "f", data: n });
    for (let n = 0; n < 7; n++) {
      const { invocation_id } = await callee.next((frame) => frame.type === "invokefunction");
      callee.say({ type: "invocationresult", invocation_id, function_id: "f", result: "x".repeat(13 * 1024 * 1024) });
    }
    await isAlive(callee);
    caller.unstall();
    const answers = await Promise.all(
      Array.from({ length: 7 }, () => caller.next((frame) => frame.type === "invocationresult")),
    );
    // 64 MiB of answers may be queued.
    expect(answers.filter((answer) => answer.result !== null && answer.result !== undefined)).toHaveLength(5);
    const errors = answers.filter((answer) => answer.error !== null).map(errorOf);
    expect(errors).toMatchObject(new Array(2).fill({ code: "overloaded", details: { executed: "yes" } }));
  });

  it("cannot make one call have two answers by a malformed frame with its id", async () => {
    const engine = await inMemoryEngine();
    const callee = await engine.connectWorker();
    const caller = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "f" });
    await isAlive(callee);
    const answer = caller.call("f");
    const { invocation_id } = await callee.next((frame) => frame.type === "invokefunction");
    caller.send(JSON.stringify({ type: "cancelinvocation", invocation_id, reason: 5 }));
    expect((await caller.next((frame) => frame.type === "error")).type).toBe("error");
    callee.say({ type: "invocationresult", invocation_id, function_id: "f", result: 42 });
    expect((await answer).result).toBe(42);
  });

  it("cannot undo another's trigger by registering one with the same id", async () => {
    const engine = await inMemoryEngine();
    const provider = await engine.connectWorker();
    const [owner, thief] = [await engine.connectWorker(), await engine.connectWorker()];
    provider.say({ type: "registertriggertype", id: "bell", description: "rings" });
    await isAlive(provider);
    owner.say({ type: "registertrigger", id: "t", trigger_type: "bell", function_id: "mine", config: {} });
    await isAlive(owner);
    thief.say({ type: "registertrigger", id: "t", trigger_type: "bell", function_id: "theirs", config: {} });
    await isAlive(thief);
    const ids = [
      await provider.next((frame) => frame.type === "registertrigger"),
      await provider.next((frame) => frame.type === "registertrigger"),
    ].map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    thief.close();
    expect(await provider.next((frame) => frame.type === "unregistertrigger")).toMatchObject({ id: ids[1] });
    expect(engine.directory.triggers().map(({ function_id }) => function_id)).toEqual(["mine"]);
    expect(engine.directory.triggerById("t")?.function_id).toBe("mine");
  });

  it("cannot register what is larger than a megabyte", async () => {
    const engine = await inMemoryEngine();
    const worker = await engine.connectWorker();
    worker.say({ type: "registerfunction", id: "f", description: "x".repeat(1024 * 1024) });
    expect(errorOf(await worker.next((frame) => frame.type === "error"))).toMatchObject({ code: "payload_too_large" });
    expect(engine.directory.functionById("f")).toBeUndefined();
  });

  it("that falls silent is there for 20 s and gone after 25 s", async () => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ clock });
    const worker = await engine.connectWorker();
    worker.stall();
    clock.advance(20_000);
    expect(engine.directory.workerById(worker.id)).toBeDefined();
    clock.advance(5_001);
    expect(engine.directory.workerById(worker.id)).toBeUndefined();
  });
});
