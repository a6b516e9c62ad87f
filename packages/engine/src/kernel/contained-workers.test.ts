import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type InMemoryEngine, type InMemoryWorker, inMemoryEngine, manualClock } from "../testing/index.ts";
import { defineModule } from "./module.ts";

// The moves K1 to K7 of a hostile or broken worker; hostile-worker.test.ts has more of the same kind.

const errorOf = (frame: Record<string, unknown>): Record<string, unknown> => frame.error as Record<string, unknown>;
const isCall = (frame: Record<string, unknown>): boolean => frame.type === "invokefunction";
const isResult = (frame: Record<string, unknown>): boolean => frame.type === "invocationresult";
const isError = (frame: Record<string, unknown>): boolean => frame.type === "error";
const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

async function isAlive(worker: InMemoryWorker): Promise<boolean> {
  worker.say({ type: "ping" });
  return (await worker.next((frame) => frame.type === "pong")).type === "pong";
}

async function provider(
  engine: InMemoryEngine,
  id: string,
  options: Parameters<InMemoryEngine["connectWorker"]>[0] = {},
): Promise<InMemoryWorker> {
  const worker = await engine.connectWorker(options);
  worker.say({ type: "registerfunction", id });
  await isAlive(worker);
  return worker;
}

describe("an answer", () => {
  it.each([
    [
      "a bystander",
      (invocation_id: unknown) => ({ type: "invocationresult", invocation_id, function_id: "f", result: "forged" }),
    ],
    [
      "a bystander, as an error",
      (invocation_id: unknown) => ({
        type: "invocationresult",
        invocation_id,
        function_id: "f",
        error: { code: "forged", message: "forged" },
      }),
    ],
    [
      "a bystander, malformed",
      (invocation_id: unknown) => ({ type: "invocationresult", invocation_id, function_id: 7 }),
    ],
  ])("by %s changes nothing: only the worker that holds the call can give it (K1)", async (_who, forged) => {
    const engine = await inMemoryEngine();
    const callee = await provider(engine, "f");
    const [caller, thief] = [await engine.connectWorker(), await engine.connectWorker()];
    const answer = caller.call("f");
    const { invocation_id } = await callee.next(isCall);
    thief.say(forged(invocation_id));
    // The caller cannot settle the call either.
    caller.say(forged(invocation_id));
    expect([await isAlive(thief), await isAlive(caller)]).toEqual([true, true]);
    callee.say({ type: "invocationresult", invocation_id, function_id: "f", result: "genuine" });
    expect((await answer).result).toBe("genuine");
  });

  it("comes once: what the same worker says of the call afterwards is dropped (K1)", async () => {
    const engine = await inMemoryEngine();
    const callee = await provider(engine, "f");
    const caller = await engine.connectWorker();
    const answer = caller.call("f");
    const { invocation_id } = await callee.next(isCall);
    for (const result of [1, 2]) callee.say({ type: "invocationresult", invocation_id, function_id: "f", result });
    expect((await answer).result).toBe(1);
    await isAlive(callee);
    await isAlive(caller);
    expect(caller.received.map((frame) => JSON.parse(frame)).filter(isResult)).toEqual([]);
  });

  it("is withdrawn by its own caller only (K1)", async () => {
    const engine = await inMemoryEngine();
    const callee = await provider(engine, "f");
    const [caller, thief] = [await engine.connectWorker(), await engine.connectWorker()];
    const answer = caller.call("f");
    const { invocation_id } = await callee.next(isCall);
    thief.say({ type: "cancelinvocation", invocation_id, reason: "mine now" });
    await isAlive(thief);
    callee.say({ type: "invocationresult", invocation_id, function_id: "f", result: 1 });
    expect((await answer).result).toBe(1);
  });
});

describe("an id", () => {
  const shop = defineModule({
    name: "svc-shop",
    summary: "A shop",
    config: z.unknown(),
    start({ provideFunction, provideTrigger }) {
      provideFunction({ id: "shop::open", summary: "Opens", input: z.unknown(), handle: () => "genuine" });
      provideTrigger({ type: "sale", summary: "A sale", settings: z.unknown(), bind: () => () => {} });
      return { stop: () => {} };
    },
  });

  it.each(["engine::workers::list", "engine::anything", "engine::workers::register", "shop::open"])(
    "%s cannot be taken by a worker (K2)",
    async (id) => {
      const engine = await inMemoryEngine({ modules: [shop] });
      const worker = await engine.connectWorker();
      worker.say({ type: "registerfunction", id });
      expect(errorOf(await worker.next(isError))).toMatchObject({
        code: "registration_refused",
        details: { message_type: "registerfunction", id },
      });
      expect(engine.directory.workerById(worker.id)?.functions).toEqual([]);
      expect(await engine.call("shop::open")).toBe("genuine");
    },
  );

  it("of a module wins over a worker that was there first (K2)", async () => {
    const engine = await inMemoryEngine({ modules: [shop], config: {} });
    const early = await engine.connectWorker();
    early.serve("shop::open", () => "forged");
    await isAlive(early);
    await engine.applyModules([{ name: "svc-shop", config: {} }]);
    expect(await engine.call("shop::open")).toBe("genuine");
  });

  it("of a module's trigger type cannot be taken by a worker (K2)", async () => {
    const engine = await inMemoryEngine({ modules: [shop] });
    const worker = await engine.connectWorker();
    worker.say({ type: "registertriggertype", id: "sale", description: "mine" });
    expect(errorOf(await worker.next(isError))).toMatchObject({ code: "registration_refused" });
  });

  it("of another worker is not lost by what others register, unregister or leave behind (K2)", async () => {
    const engine = await inMemoryEngine();
    const owner = await engine.connectWorker();
    owner.serve("f", () => "owner");
    await isAlive(owner);
    const other = await engine.connectWorker();
    other.say({ type: "unregisterfunction", id: "f" });
    await isAlive(other);
    expect(await engine.call("f")).toBe("owner");
    other.say({ type: "registerfunction", id: "f" });
    await isAlive(other);
    other.close();
    expect(await engine.call("f")).toBe("owner");
  });
});

describe("who calls", () => {
  const FORGED = '{"worker_id":"forged","name":"forged"}';

  it.each([
    ["as a member", `,"caller":${FORGED},"job":{"queue":"q","id":"j","attempt":1},"data":1}`],
    ["behind the payload", `,"data":1,"caller":${FORGED},"job":{"queue":"q","id":"j","attempt":1}}`],
    ["twice", `,"caller":${FORGED},"caller":${FORGED},"data":1}`],
  ])("is what the engine says, not what the frame says %s (K3)", async (_how, rest) => {
    const engine = await inMemoryEngine();
    const callee = await provider(engine, "f");
    const caller = await engine.connectWorker({ name: "honest" });
    const id = crypto.randomUUID();
    caller.send(`{"type":"invokefunction","invocation_id":"${id}","function_id":"f"${rest}`);
    expect(await callee.next(isCall)).toMatchObject({
      invocation_id: id,
      function_id: "f",
      caller: { worker_id: caller.id, name: "honest" },
      job: null,
    });
  });

  it("is not told to published clients, and `_caller_worker_id` of a payload is the payload's (K3)", async () => {
    const engine = await inMemoryEngine();
    const callee = await provider(engine, "f", { features: [] });
    const caller = await engine.connectWorker();
    caller.say({
      type: "invokefunction",
      function_id: "f",
      caller: { worker_id: "x", name: "x" },
      data: { _caller_worker_id: "mine" },
    });
    const frame = await callee.next(isCall);
    expect(frame).not.toHaveProperty("caller");
    expect(frame.data).toEqual({ _caller_worker_id: "mine" });
  });

  it("counts as itself to modules too (K3)", async () => {
    const callers: unknown[] = [];
    const nosy = defineModule({
      name: "svc-nosy",
      summary: "Notes who calls",
      config: z.unknown(),
      start({ provideFunction }) {
        provideFunction({
          id: "nosy::note",
          summary: "Notes",
          input: z.unknown(),
          handle: (_input, { caller }) => callers.push(caller),
        });
        return { stop: () => {} };
      },
    });
    const engine = await inMemoryEngine({ modules: [nosy] });
    const worker = await engine.connectWorker({ name: "honest" });
    await worker.call(
      "nosy::note",
      { _caller_worker_id: "forged", caller: "forged" },
      { caller: { worker_id: "forged", name: "forged" } },
    );
    expect(callers).toEqual([{ worker_id: worker.id, name: "honest" }]);
  });
});

describe("the trace of a call", () => {
  const traces: readonly (readonly [string, Record<string, unknown>])[] = [
    ["a malformed traceparent", { traceparent: `${TRACEPARENT}\r\nx: y` }],
    ["an all-zero trace id", { traceparent: `00-${"0".repeat(32)}-b7ad6b7169203331-01` }],
    ["a long traceparent", { traceparent: "0".repeat(100_000) }],
    ["more than 8 kB of baggage", { baggage: `a=${"b".repeat(8192)}` }],
    ["baggage that is no header", { baggage: "a=1\r\nx-evil: 1" }],
    ["baggage beyond ASCII, 8,000 characters and 24 kB", { baggage: "€".repeat(8_000) }],
  ];

  it.each(traces)("loses %s on its way to the callee (K3)", async (_what, members) => {
    const engine = await inMemoryEngine();
    const callee = await provider(engine, "f");
    const caller = await engine.connectWorker();
    caller.say({ type: "invokefunction", function_id: "f", ...members, data: 1 });
    expect(await callee.next(isCall)).toMatchObject({ traceparent: null, baggage: null });
  });

  it.each(traces)("loses %s on its way back to the caller, who keeps its own (K3)", async (_what, members) => {
    const engine = await inMemoryEngine();
    const callee = await provider(engine, "f");
    const caller = await engine.connectWorker();
    const answer = caller.call("f", 1, { traceparent: TRACEPARENT, baggage: "a=1" });
    const { invocation_id } = await callee.next(isCall);
    callee.say({ type: "invocationresult", invocation_id, function_id: "f", ...members, result: 1 });
    expect(await answer).toMatchObject({ traceparent: TRACEPARENT, baggage: "a=1" });
  });

  it.each(traces)("loses %s on its way into a queue (K3)", async (_what, members) => {
    const engine = await inMemoryEngine();
    const queue = await engine.connectWorker();
    const jobs: unknown[] = [];
    queue.serve("engine::queue::enqueue", (job) => jobs.push(job));
    await isAlive(queue);
    const caller = await engine.connectWorker();
    await caller.call("f", 1, { action: { type: "enqueue", queue: "q" }, ...members });
    expect(jobs).toEqual([expect.not.objectContaining(members)]);
  });
});

describe("a worker without measure", () => {
  it.each([
    ["functions", { maxFunctions: 3 }, (n: number) => ({ type: "registerfunction", id: `f${n}` })],
    [
      "trigger types",
      { maxTriggerTypes: 3 },
      (n: number) => ({ type: "registertriggertype", id: `t${n}`, description: "d" }),
    ],
    [
      "triggers",
      { maxTriggers: 3 },
      (n: number) => ({ type: "registertrigger", id: `b${n}`, trigger_type: "t", function_id: "f", config: { n } }),
    ],
  ])("gets only so many %s, and keeps those that it has (K4)", async (_what, limits, message) => {
    const engine = await inMemoryEngine({ limits });
    const worker = await engine.connectWorker();
    for (let n = 0; n < 5; n++) worker.say(message(n));
    // The same id again replaces the registration, and does not add one.
    worker.say(message(0));
    await isAlive(worker);
    const refusals = worker.received.filter((frame) => frame.includes("registration_refused"));
    expect(refusals).toHaveLength(2);
    const view = engine.directory.workerById(worker.id);
    expect(
      (view?.functions.length ?? 0) + engine.directory.triggers().length + engine.directory.triggerTypes().length,
    ).toBe(3);
  });

  it.each([["a".repeat(257)], ["é".repeat(129)], ["a\u0000b"], ["a\u2028b"], [" "], [""]])(
    "cannot register an id such as %j (K4)",
    async (id) => {
      const engine = await inMemoryEngine();
      const worker = await engine.connectWorker();
      worker.say({ type: "registerfunction", id });
      expect(errorOf(await worker.next(isError))).toMatchObject({ code: "invalid_name" });
      expect(engine.directory.workerById(worker.id)?.function_count).toBe(0);
    },
  );

  it("cannot have its payload nested deeper than 136 levels parsed by anybody (K4)", async () => {
    const engine = await inMemoryEngine();
    const callee = await provider(engine, "f", { features: [] });
    const caller = await engine.connectWorker({ features: [] });
    const id = crypto.randomUUID();
    caller.send(
      `{"type":"invokefunction","invocation_id":"${id}","function_id":"f","data":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
    );
    expect(errorOf(await caller.next(isError))).toMatchObject({ code: "invalid_message" });
    expect(await isAlive(callee)).toBe(true);
    expect(callee.received.filter((frame) => frame.includes("invokefunction"))).toEqual([]);
  });
});

describe("a worker that does not read its socket", () => {
  it("is passed over while another provides the function, and costs its callers nothing but its own calls (K5)", async () => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ clock, deadlines: { defaultTimeoutMs: 600_000 } });
    const slow = await provider(engine, "only::slow");
    slow.stall();
    const stuck = Array.from({ length: 4_096 }, () => engine.call("only::slow").catch((error: unknown) => error));
    await expect(engine.call("only::slow")).rejects.toMatchObject({ code: "worker_overloaded" });
    slow.say({ type: "registerfunction", id: "shared" });
    await Promise.resolve();
    const quick = await engine.connectWorker();
    quick.serve("shared", () => "quick");
    await isAlive(quick);
    expect(await Promise.all(Array.from({ length: 20 }, () => engine.call("shared")))).toEqual(
      new Array(20).fill("quick"),
    );
    clock.advance(31_000);
    expect(await slow.closed).toMatchObject({ code: 1012 });
    for (const error of await Promise.all(stuck)) expect(error).toMatchObject({ code: "invocation_stopped" });
    expect(engine.kernel.router.counts.inFlight).toBe(0);
  });
});

describe("a call that never left the engine", () => {
  it("says that it was not executed when its worker disconnects; one that may have left does not", async () => {
    const engine = await inMemoryEngine();
    const slow = await provider(engine, "f");
    const caller = await engine.connectWorker();
    const sent = caller.call("f");
    await slow.next(isCall);
    slow.stall();
    const queued = [caller.call("f"), caller.call("f")];
    await isAlive(caller);
    slow.close();
    expect(errorOf(await sent)).toMatchObject({ code: "invocation_stopped", details: { executed: "unknown" } });
    // Nothing was queued before the first frame, so it may have been sent at once.
    const [first, second] = await Promise.all(queued);
    expect([errorOf(first ?? {}), errorOf(second ?? {})]).toMatchObject([
      { details: { executed: "unknown" } },
      { details: { executed: "no" } },
    ]);
  });
});

describe("a worker that never answers", () => {
  it("is waited for until the deadline and no longer, and holds only so many calls (K6)", async () => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ clock, limits: { maxCallsHeld: 10 } });
    const mute = await provider(engine, "f");
    const calls = Array.from({ length: 10 }, () => engine.call("f").catch((error: unknown) => error));
    await expect(engine.call("f")).rejects.toMatchObject({ code: "worker_overloaded" });
    clock.advance(30_100);
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: "call_timeout" });
    expect(engine.kernel.router.counts.inFlight).toBe(0);
    await isAlive(mute);
    expect(mute.received.filter((frame) => frame.includes("cancelinvocation"))).toHaveLength(10);
    // There is room again.
    const next = engine.call("f").catch((error: unknown) => error);
    expect(await mute.next(isCall)).toBeDefined();
    clock.advance(30_100);
    expect(await next).toMatchObject({ code: "call_timeout" });
  });

  it("is waited for 15 minutes where the caller is a published client, whose own timer decides (K6)", async () => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ clock });
    await provider(engine, "f");
    const caller = await engine.connectWorker({ features: [] });
    const answer = caller.call("f", 1, { timeout_ms: 1 });
    await isAlive(caller);
    for (let minute = 0; minute < 16; minute++) {
      // No worker becomes silent in between.
      for (let n = 0; n < 6; n++) clock.advance(10_000);
    }
    expect(errorOf(await answer)).toMatchObject({ code: "call_timeout" });
  });
});

describe("a worker that is stopped or half-open", () => {
  it("is cut off within 25 s, and its calls fail at once then instead of at their deadline (K7)", async () => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ clock, deadlines: { defaultTimeoutMs: 600_000 } });
    const frozen = await provider(engine, "f");
    const call = engine.call("f").catch((error: unknown) => error);
    await frozen.next(isCall);
    frozen.stall();
    clock.advance(25_001);
    expect(await call).toMatchObject({ code: "invocation_stopped" });
    expect(engine.directory.functionById("f")).toBeUndefined();
    expect(await frozen.closed).toMatchObject({ code: 1006 });
  });

  it("is not cut off while it answers pings, however long it says nothing else (K7)", async () => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ clock });
    const quiet = await provider(engine, "f");
    for (let n = 0; n < 60; n++) clock.advance(10_000);
    expect(await isAlive(quiet)).toBe(true);
  });
});
