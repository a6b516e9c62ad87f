import { type FunctionId, Payload } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import { type InMemoryEngine, inMemoryEngine, manualClock } from "../testing/index.ts";
import type { Outcome } from "./call.ts";
import { newInvocationId } from "./router.ts";

const errorOf = (frame: Record<string, unknown>): Record<string, unknown> => frame.error as Record<string, unknown>;

/** Makes a call and returns its outcome if the router settled it at once; undefined if it is still in flight. */
function outcomeAtOnce({ kernel }: InMemoryEngine, functionId: string): Outcome | undefined {
  let settled: Outcome | undefined;
  kernel.router.start({
    id: newInvocationId(),
    functionId: functionId as FunctionId,
    payload: Payload.null,
    timeoutMs: undefined,
    fallbackTimeoutMs: 30_000,
    traceparent: undefined,
    baggage: undefined,
    metadata: undefined,
    caller: undefined,
    job: undefined,
    whileDraining: false,
    onSettled: (outcome) => {
      settled = outcome;
    },
  });
  return settled;
}

describe("a call", () => {
  it("reaches the worker that provides the function and brings its answer back under the caller's id", async () => {
    const engine = await inMemoryEngine();
    const callee = await engine.connectWorker({ name: "math" });
    const caller = await engine.connectWorker({ name: "shop" });
    callee.serve("math::add", (data, frame) => ({
      c: (data as { a: number; b: number }).a + (data as { b: number }).b,
      caller: frame.caller,
    }));

    const answer = await caller.call("math::add", { a: 2, b: 3 });

    expect(answer.result).toEqual({ c: 5, caller: { worker_id: caller.id, name: "shop" } });
  });

  it("carries trace context along and drops a malformed one", async () => {
    const engine = await inMemoryEngine();
    const worker = await engine.connectWorker();
    worker.serve("f", (_data, frame) => ({ traceparent: frame.traceparent, baggage: frame.baggage }));
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    expect((await worker.call("f", 1, { traceparent, baggage: "k=v" })).result).toEqual({
      traceparent,
      baggage: "k=v",
    });
    expect((await worker.call("f", 1, { traceparent: "00-zz", baggage: "k".repeat(9_000) })).result).toEqual({
      traceparent: null,
      baggage: null,
    });
  });

  it("fails with the text that published clients match on when nobody provides the function", async () => {
    const engine = await inMemoryEngine();
    const worker = await engine.connectWorker();
    expect(errorOf(await worker.call("math::nope"))).toMatchObject({
      code: "function_not_found",
      message: "Function math::nope not found",
      details: { executed: "no" },
    });
  });

  it("is refused without waiting when nobody provides the function (C-4)", async () => {
    const engine = await inMemoryEngine();
    expect(outcomeAtOnce(engine, "math::nope")).toMatchObject({ ok: false, error: { code: "function_not_found" } });
  });

  it("is refused without waiting when every worker holds as many calls as it may; calls of other workers go on (C-8)", async () => {
    const engine = await inMemoryEngine({ limits: { maxCallsHeld: 1 } });
    const mute = await engine.connectWorker();
    mute.say({ type: "registerfunction", id: "mute" });
    const other = await engine.connectWorker();
    other.serve("other", () => "answer");
    const caller = await engine.connectWorker();
    expect((await caller.call("other")).result).toBe("answer");
    expect(outcomeAtOnce(engine, "mute")).toBeUndefined();
    expect(outcomeAtOnce(engine, "mute")).toMatchObject({ ok: false, error: { code: "worker_overloaded" } });
    expect((await caller.call("other")).result).toBe("answer");
  });

  it.each([
    { from: "a client of ours", features: undefined },
    { from: "a published client", features: [] },
  ])(
    "of $from reaches a worker after all calls that the same connection made before, whatever their sizes and kinds (C-7)",
    async ({ features }) => {
      const engine = await inMemoryEngine();
      const callee = await engine.connectWorker();
      callee.say({ type: "registerfunction", id: "f" });
      callee.say({ type: "registerfunction", id: "g" });
      const caller = await engine.connectWorker(features === undefined ? {} : { features });
      const kinds: readonly ((n: number) => Record<string, unknown>)[] = [
        (n) => ({ function_id: "f", invocation_id: crypto.randomUUID(), data: { n } }),
        (n) => ({ function_id: "g", invocation_id: crypto.randomUUID(), data: { n, text: "x".repeat(5_000) } }),
        (n) => ({ function_id: "f", action: { type: "void" }, data: { n } }),
        // The payload is not the last member, and there is an unknown member.
        (n) => ({ data: { n }, function_id: "g", action: { type: "void" }, unknown: "member" }),
        (n) => ({
          function_id: "f",
          invocation_id: crypto.randomUUID(),
          timeout_ms: 60_000,
          data: { n, text: "é".repeat(100_000) },
        }),
      ];
      const numbers = Array.from({ length: 100 }, (_, n) => n);
      for (const n of numbers) caller.say({ type: "invokefunction", ...kinds[n % kinds.length]?.(n) });
      const delivered: unknown[] = [];
      for (const _ of numbers) {
        const { data } = await callee.next((frame) => frame.type === "invokefunction");
        delivered.push((data as { n: number }).n);
      }
      expect(delivered).toEqual(numbers);
    },
  );

  it("fails with call_timeout at its deadline, and the callee is told to stop (gap 54)", async () => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ clock });
    const callee = await engine.connectWorker();
    const caller = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "slow" });
    const answer = caller.call("slow", null, { timeout_ms: 200 });
    await callee.next((frame) => frame.type === "invokefunction");
    clock.advance(300);

    expect(errorOf(await answer)).toMatchObject({
      code: "call_timeout",
      details: { timeout_ms: 200, function_id: "slow", executed: "unknown" },
    });
    expect(await callee.next((frame) => frame.type === "cancelinvocation")).toMatchObject({ reason: "deadline" });
  });

  it.each([
    { what: "the call's own deadline", declared: 5_000, asked: 1_000, features: undefined, expectedMs: 1_000 },
    {
      what: "the function's deadline when the call names none",
      declared: 5_000,
      asked: undefined,
      features: undefined,
      expectedMs: 5_000,
    },
    {
      what: "the default when neither names one",
      declared: undefined,
      asked: undefined,
      features: undefined,
      expectedMs: 30_000,
    },
    {
      what: "the legacy deadline for a client that knows no deadlines",
      declared: undefined,
      asked: 1_000,
      features: [],
      expectedMs: 900_000,
    },
  ])("takes $what", async ({ declared, asked, features, expectedMs }) => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ clock });
    const callee = await engine.connectWorker();
    const caller = await engine.connectWorker(features === undefined ? {} : { features });
    callee.say({ type: "registerfunction", id: "slow", timeout_ms: declared });
    const answer = caller.call("slow", null, { timeout_ms: asked });
    await callee.next((frame) => frame.type === "invokefunction");
    clock.advance(expectedMs - 1);
    expect(caller.received).toEqual([]);
    clock.advance(101);
    expect(errorOf(await answer).code).toBe("call_timeout");
  });

  it("fails with invocation_stopped when the callee's connection ends", async () => {
    const engine = await inMemoryEngine();
    const callee = await engine.connectWorker();
    const caller = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "slow" });
    const answer = caller.call("slow");
    await callee.next((frame) => frame.type === "invokefunction");
    callee.close();
    expect(errorOf(await answer)).toMatchObject({ code: "invocation_stopped", message: "Invocation stopped" });
  });

  it("is cancelled at the callee when the caller's connection ends, and its late answer is dropped", async () => {
    const engine = await inMemoryEngine();
    const callee = await engine.connectWorker();
    const caller = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "slow" });
    caller.call("slow").catch(() => {});
    const call = await callee.next((frame) => frame.type === "invokefunction");
    caller.close();
    await callee.next((frame) => frame.type === "cancelinvocation" && frame.invocation_id === call.invocation_id);
    callee.say({ type: "invocationresult", invocation_id: call.invocation_id, function_id: "slow", result: 1 });
    callee.say({ type: "ping" });
    await callee.next((frame) => frame.type === "pong");
    expect(engine.kernel.router.counts.inFlight).toBe(0);
  });

  it("is cancelled when the caller says so (gap 54)", async () => {
    const engine = await inMemoryEngine();
    const callee = await engine.connectWorker();
    const caller = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "slow" });
    const answer = caller.call("slow");
    const call = await callee.next((frame) => frame.type === "invokefunction");
    caller.say({ type: "cancelinvocation", invocation_id: call.invocation_id, reason: "user left" });
    expect(errorOf(await answer)).toMatchObject({ code: "call_cancelled" });
    expect(await callee.next((frame) => frame.type === "cancelinvocation")).toMatchObject({ reason: "user left" });
  });

  it("takes an answer only from the worker that it was sent to", async () => {
    const engine = await inMemoryEngine();
    const callee = await engine.connectWorker();
    const caller = await engine.connectWorker();
    const forger = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "f" });
    const answer = caller.call("f");
    const call = await callee.next((frame) => frame.type === "invokefunction");
    forger.say({ type: "invocationresult", invocation_id: call.invocation_id, function_id: "f", result: "forged" });
    forger.say({ type: "ping" });
    await forger.next((frame) => frame.type === "pong");
    callee.say({ type: "invocationresult", invocation_id: call.invocation_id, function_id: "f", result: "true" });
    expect((await answer).result).toBe("true");
  });

  it("gets no answer when it is void, whether the function is there or not", async () => {
    const engine = await inMemoryEngine();
    const callee = await engine.connectWorker();
    const caller = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "f" });
    caller.say({ type: "invokefunction", function_id: "f", data: 1, action: { type: "void" } });
    caller.say({ type: "invokefunction", function_id: "nope", data: 1, action: { type: "void" } });
    const call = await callee.next((frame) => frame.type === "invokefunction");
    callee.say({ type: "invocationresult", invocation_id: call.invocation_id, function_id: "f", result: 1 });
    caller.say({ type: "ping" });
    expect(await caller.next()).toEqual({ type: "pong" });
  });

  it("to a queue fails with a hint while there is no queue", async () => {
    const engine = await inMemoryEngine();
    const worker = await engine.connectWorker();
    const answer = await worker.call("f", 1, { action: { type: "enqueue", queue: "jobs" } });
    expect(errorOf(answer)).toMatchObject({
      code: "enqueue_error",
      message: expect.stringContaining("svc worker add svc-queue"),
    });
  });

  it("to a queue goes to whoever provides one, with a receipt id", async () => {
    const engine = await inMemoryEngine();
    const worker = await engine.connectWorker();
    worker.serve("engine::queue::enqueue", (data) => ({
      messageReceiptId: (data as { messageReceiptId: string }).messageReceiptId,
      seen: data,
    }));
    const answer = await worker.call("f", { a: 1 }, { action: { type: "enqueue", queue: "jobs" } });
    expect(answer.result).toMatchObject({
      messageReceiptId: expect.any(String),
      seen: { queue: "jobs", function_id: "f", data: { a: 1 } },
    });
  });

  it("can be made by a worker of its own function, under one id", async () => {
    const engine = await inMemoryEngine();
    const worker = await engine.connectWorker();
    worker.serve("echo", (data) => data);
    expect((await worker.call("echo", "x")).result).toBe("x");
  });

  it("is refused over the limit of calls in flight, and its id cannot be used twice (gap 58)", async () => {
    const engine = await inMemoryEngine({ limits: { maxCallsInFlight: 1 } });
    const callee = await engine.connectWorker();
    const caller = await engine.connectWorker();
    callee.say({ type: "registerfunction", id: "slow" });
    caller.call("slow").catch(() => {});
    await callee.next((frame) => frame.type === "invokefunction");
    expect(errorOf(await caller.call("slow")).code).toBe("too_many_calls");
  });
});

describe("calls of a function with several workers", () => {
  it("go to the worker with the fewest calls in flight, ties in turn", async () => {
    const engine = await inMemoryEngine();
    const first = await engine.connectWorker({ name: "a" });
    const second = await engine.connectWorker({ name: "b" });
    const caller = await engine.connectWorker();
    first.serve("f", () => "a");
    second.serve("f", () => "b");
    const counts: Record<string, number> = { a: 0, b: 0 };
    for (let n = 0; n < 100; n++) {
      const { result } = await caller.call("f");
      counts[String(result)] = (counts[String(result)] ?? 0) + 1;
    }
    expect(counts).toEqual({ a: 50, b: 50 });
  });

  it("go on with the rest when one worker leaves; only the calls in its hands fail", async () => {
    const engine = await inMemoryEngine();
    const dying = await engine.connectWorker();
    const staying = await engine.connectWorker();
    const caller = await engine.connectWorker();
    dying.say({ type: "registerfunction", id: "f" });
    const lost = caller.call("f");
    await dying.next((frame) => frame.type === "invokefunction");
    staying.serve("f", () => "ok");
    expect((await caller.call("f")).result).toBe("ok");
    dying.close();
    expect(errorOf(await lost).code).toBe("invocation_stopped");
    for (let n = 0; n < 10; n++) expect((await caller.call("f")).result).toBe("ok");
    staying.close();
    expect(errorOf(await caller.call("f")).code).toBe("function_not_found");
  });
});

describe("draining", () => {
  it("refuses new work, lets work in hand finish with the calls it needs, and resolves when the last call is answered", async () => {
    const engine = await inMemoryEngine();
    const outer = await engine.connectWorker();
    const caller = await engine.connectWorker();
    caller.serve("inner", () => "inner");
    outer.say({ type: "registerfunction", id: "outer" });
    outer.say({ type: "ping" });
    await outer.next((frame) => frame.type === "pong");
    const answer = caller.call("outer");
    const held = await outer.next((frame) => frame.type === "invokefunction");

    const drained = engine.kernel.router.drain(10_000);
    const refused = await engine.call("inner").catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "draining" });
    const nested = await outer.call("inner");
    expect(nested.result).toBe("inner");
    outer.say({ type: "invocationresult", invocation_id: held.invocation_id, function_id: "outer", result: "done" });

    expect((await answer).result).toBe("done");
    expect(await drained).toBe(true);
  });

  it("gives up when the grace period ends", async () => {
    const clock = manualClock();
    const engine = await inMemoryEngine({ clock });
    const worker = await engine.connectWorker();
    worker.say({ type: "registerfunction", id: "slow" });
    const caller = await engine.connectWorker();
    caller.call("slow").catch(() => {});
    await worker.next((frame) => frame.type === "invokefunction");
    const drained = engine.kernel.router.drain(10_000);
    clock.advance(10_000);
    expect(await drained).toBe(false);
  });
});
