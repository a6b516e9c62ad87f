import { describe, expect, it } from "vitest";
import { inMemoryPair } from "../testing/in-memory-socket.ts";
import { type InMemoryWorker, inMemoryEngine, manualClock } from "../testing/index.ts";
import { Connection } from "./connection.ts";

const errorOf = (frame: Record<string, unknown>): Record<string, unknown> => frame.error as Record<string, unknown>;
async function isAlive(worker: InMemoryWorker): Promise<boolean> {
  worker.say({ type: "ping" });
  return (await worker.next((frame) => frame.type === "pong")).type === "pong";
}

describe("a worker's connection", () => {
  it("opens with workerregistered, a UUID and a token", async () => {
    const engine = await inMemoryEngine();
    const { socket, client } = inMemoryPair();
    new Connection(engine.kernel, socket);
    const first = await client.next();
    expect(first).toMatchObject({
      type: "workerregistered",
      worker_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      reattach_token: expect.any(String),
    });
  });

  it.each([
    ["not json", "invalid_message"],
    ['{"type":"somethingnew"}', "invalid_message"],
    ['{"type":"registerfunction"}', "invalid_message"],
    ['{"type":"registerfunction","id":""}', "invalid_name"],
    ['{"type":"registerfunction","id":"a\\nb"}', "invalid_name"],
    [`{"type":"registerfunction","id":"${"x".repeat(257)}"}`, "invalid_name"],
    ['{"type":"registerfunction","id":"engine::mine"}', "registration_refused"],
  ])("answers the frame %s with an error frame and lives on", async (frame, code) => {
    const engine = await inMemoryEngine();
    const worker = await engine.connectWorker();
    worker.send(frame);
    const answer = await worker.next((received) => received.type === "error");
    expect(errorOf(answer)).toMatchObject({ code, message: expect.stringMatching(/./) });
    expect(await isAlive(worker)).toBe(true);
  });

  it("answers a malformed call under its id", async () => {
    const engine = await inMemoryEngine();
    const worker = await engine.connectWorker();
    const id = crypto.randomUUID();
    worker.send(
      JSON.stringify({ type: "invokefunction", invocation_id: id, function_id: "f", timeout_ms: "soon", data: 1 }),
    );
    const answer = await worker.next((frame) => frame.type === "invocationresult");
    expect(answer.invocation_id).toBe(id);
    expect(errorOf(answer)).toMatchObject({ code: "invalid_message", message: expect.stringContaining("timeout_ms") });
  });

  it("skips blank frames, takes protocol messages in binary frames, and drops telemetry", async () => {
    const engine = await inMemoryEngine();
    const worker = await engine.connectWorker();
    worker.send("  \n");
    worker.sendBinary(Buffer.from('OTLP{"resourceSpans":[]}'));
    worker.sendBinary(Buffer.from('{"type":"ping"}'));
    expect(await worker.next()).toEqual({ type: "pong" });
  });

  it("is pinged, and cut off after 25 s of silence, which ends its registrations (gap 58)", async () => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ clock });
    const worker = await engine.connectWorker();
    worker.say({ type: "registerfunction", id: "f" });
    await isAlive(worker);
    for (let n = 0; n < 6; n++) {
      clock.advance(10_000);
      await isAlive(worker);
    }
    expect(engine.directory.functionById("f")).toBeDefined();
    worker.stall();
    clock.advance(30_000);
    expect(engine.directory.functionById("f")).toBeUndefined();
    expect(await worker.closed).toMatchObject({ code: 1006 });
  });

  it("gets no calls while it does not read, is not read from, and is cut off after 30 s (gap 58)", async () => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ clock, deadlines: { defaultTimeoutMs: 600_000 } });
    const slow = await engine.connectWorker();
    slow.say({ type: "registerfunction", id: "f" });
    await isAlive(slow);
    slow.stall();
    const calls = Array.from({ length: 4_096 }, () => engine.call("f").catch((error: unknown) => error));
    expect(await engine.call("f").catch((error: unknown) => error)).toMatchObject({ code: "worker_overloaded" });
    slow.say({ type: "registerfunction", id: "g" });
    await Promise.resolve();
    expect(slow.paused).toBe(true);
    clock.advance(30_100);
    expect(await slow.closed).toMatchObject({ code: 1012 });
    expect(await calls[0]).toMatchObject({ code: "invocation_stopped" });
  });

  it("is kept while it reads, however slowly, and is cut off 30 s after it has read last", async () => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ clock, deadlines: { defaultTimeoutMs: 600_000 } });
    const quick = await engine.connectWorker();
    let served = 0;
    quick.serve("f", () => {
      served += 1;
      return "x".repeat(1024 * 1024);
    });
    await isAlive(quick);
    const slow = await engine.connectWorker();
    slow.stall();
    for (let n = 0; n < 30; n++)
      slow.say({ type: "invokefunction", invocation_id: crypto.randomUUID(), function_id: "f" });
    await expect.poll(() => [served, engine.kernel.router.counts.inFlight]).toEqual([30, 0]);
    slow.say({ type: "registerfunction", id: "g" });
    await Promise.resolve();
    expect(slow.paused).toBe(true);
    for (let n = 0; n < 3; n++) {
      clock.advance(29_000);
      slow.read(1);
      clock.advance(100);
    }
    let hasEnded = false;
    const ended = slow.closed.finally(() => {
      hasEnded = true;
    });
    await Promise.resolve();
    expect(hasEnded).toBe(false);
    clock.advance(30_100);
    expect(await ended).toMatchObject({ code: 1012 });
  });

  it("is read from again once its queue has room", async () => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ clock });
    const slow = await engine.connectWorker();
    slow.say({ type: "registerfunction", id: "f" });
    await isAlive(slow);
    slow.stall();
    for (let n = 0; n < 4_096; n++) engine.call("f").catch(() => {});
    slow.say({ type: "registerfunction", id: "g" });
    await Promise.resolve();
    slow.unstall();
    await slow.next((frame) => frame.type === "invokefunction");
    clock.advance(100);
    expect(slow.paused).toBe(false);
    expect(await isAlive(slow)).toBe(true);
  });
});

describe("registrations", () => {
  it("take effect before later frames of the same socket, without waiting for the introduction", async () => {
    const engine = await inMemoryEngine();
    const { socket, client } = inMemoryPair();
    new Connection(engine.kernel, socket);
    client.send(JSON.stringify({ type: "registerfunction", id: "self" }));
    client.send(
      JSON.stringify({ type: "invokefunction", invocation_id: crypto.randomUUID(), function_id: "self", data: 1 }),
    );
    expect(await client.next((frame) => frame.type === "invokefunction")).toMatchObject({ function_id: "self" });
  });

  it("of the same id on one connection replace each other", async () => {
    const engine = await inMemoryEngine();
    const worker = await engine.connectWorker();
    worker.say({ type: "registerfunction", id: "f", description: "old" });
    worker.say({ type: "registerfunction", id: "f", description: "new" });
    await isAlive(worker);
    expect(engine.directory.functionById("f")).toMatchObject({ description: "new", workers: [{ id: worker.id }] });
    worker.say({ type: "unregisterfunction", id: "f" });
    await isAlive(worker);
    expect(engine.directory.functionById("f")).toBeUndefined();
  });

  it("of one worker are not taken away by another's unregister or end", async () => {
    const engine = await inMemoryEngine();
    const owner = await engine.connectWorker();
    const other = await engine.connectWorker();
    owner.say({ type: "registerfunction", id: "f" });
    await isAlive(owner);
    other.say({ type: "unregisterfunction", id: "f" });
    await isAlive(other);
    other.close();
    expect(engine.directory.functionById("f")?.workers).toEqual([{ id: owner.id, name: "worker" }]);
  });

  it("are refused over the limit, and the worker is told which (gap 58)", async () => {
    const engine = await inMemoryEngine({ limits: { maxFunctions: 1, maxTriggers: 1 } });
    const worker = await engine.connectWorker();
    worker.say({ type: "registerfunction", id: "a" });
    worker.say({ type: "registerfunction", id: "b" });
    expect(errorOf(await worker.next((frame) => frame.type === "error"))).toMatchObject({
      code: "registration_refused",
      details: { id: "b" },
    });
    worker.say({ type: "registertrigger", id: "t1", trigger_type: "tt", function_id: "a", config: {} });
    worker.say({ type: "registertrigger", id: "t2", trigger_type: "tt", function_id: "a", config: {} });
    expect(await worker.next((frame) => frame.id === "t2")).toMatchObject({
      type: "triggerregistrationresult",
      error: { code: "registration_refused" },
    });
  });
});

describe("reattach", () => {
  it("retires the former connection before the next frame of the new one takes effect", async () => {
    const engine = await inMemoryEngine();
    const before = await engine.connectWorker();
    before.say({ type: "registerfunction", id: "f" });
    await isAlive(before);
    const after = await engine.connectWorker();
    after.say({ type: "reattach", previous_worker_id: before.id, reattach_token: before.reattachToken });
    after.say({ type: "registerfunction", id: "f" });
    await isAlive(after);
    expect(engine.directory.functionById("f")?.workers.map(({ id }) => id)).toEqual([after.id]);
    expect(await before.closed).toMatchObject({ code: 1012 });
  });

  it("with a wrong token changes nothing", async () => {
    const engine = await inMemoryEngine();
    const before = await engine.connectWorker();
    before.say({ type: "registerfunction", id: "f" });
    await isAlive(before);
    const after = await engine.connectWorker();
    after.say({ type: "reattach", previous_worker_id: before.id, reattach_token: crypto.randomUUID() });
    await isAlive(after);
    expect(engine.directory.functionById("f")?.workers.map(({ id }) => id)).toEqual([before.id]);
  });
});

describe("published clients", () => {
  it("get calls and answers without members of ours", async () => {
    const engine = await inMemoryEngine();
    const callee = await engine.connectWorker({ features: [] });
    const caller = await engine.connectWorker({ features: [] });
    callee.say({ type: "registerfunction", id: "f" });
    const answer = caller.call("f", { a: 1 });
    const call = await callee.next((frame) => frame.type === "invokefunction");
    expect(Object.keys(call).sort()).toEqual(["data", "function_id", "invocation_id", "type"]);
    callee.say({
      type: "invocationresult",
      invocation_id: call.invocation_id,
      function_id: "f",
      error: { code: "c", message: "m", details: { a: 1 } },
    });
    expect(errorOf(await answer)).toEqual({ code: "c", message: "m" });
  });

  it("never get a payload that is not JSON; its sender is told", async () => {
    const engine = await inMemoryEngine();
    const callee = await engine.connectWorker({ features: [] });
    const caller = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "f" });
    await isAlive(callee);
    const id = crypto.randomUUID();
    caller.send(`{"type":"invokefunction","invocation_id":"${id}","function_id":"f","data":{"a":tru}}`);
    expect(errorOf(await caller.next((frame) => frame.invocation_id === id))).toMatchObject({
      code: "invalid_message",
    });
    expect(await isAlive(callee)).toBe(true);
  });

  it("in Python get no frame over 1 MiB: the caller is told and the connection lives", async () => {
    const engine = await inMemoryEngine();
    const callee = await engine.connectWorker({ features: [], runtime: "python" });
    const caller = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "f" });
    await isAlive(callee);
    const answer = await caller.call("f", "x".repeat(1024 * 1024));
    expect(errorOf(answer)).toMatchObject({ code: "payload_too_large", details: { limit: 1_048_576 } });
    expect(await isAlive(callee)).toBe(true);
  });
});
