import { CallError, FEATURES, workerIntroductionSchema } from "@svc-runtime/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { connect as connectBrowser } from "./browser.ts";
import { FakeEngine, type Frame } from "./fake-engine.test.support.ts";
import { createLogger, jsonLine, type LogRecord, silentLogger } from "./logger.ts";
import { type CallContext, connect, type NodeWorkerOptions, type Worker } from "./node.ts";

const ID = "11111111-1111-4111-8111-111111111111";
const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

let engine: FakeEngine;
let worker: Worker;
const extra: Worker[] = [];

function open(options: NodeWorkerOptions = {}): Worker {
  const made = connect(engine.address, {
    name: "probe",
    logger: silentLogger,
    handleSignals: false,
    reconnect: { initialDelayMs: 1 },
    ...options,
  });
  extra.push(made);
  return made;
}

beforeEach(async () => {
  engine = await FakeEngine.start();
  worker = open();
});

afterEach(async () => {
  await Promise.all(extra.splice(0).map((each) => each.shutdown({ timeoutMs: 1 })));
  await engine.stop();
});

const invoke = (function_id: string, data: unknown, more: Frame = {}): Frame => ({
  data,
  type: "invokefunction",
  invocation_id: ID,
  function_id,
  ...more,
});
const answerOf = (invocation_id = ID): Promise<Frame> => engine.frame({ type: "invocationresult", invocation_id });

describe("connecting", () => {
  it("introduces itself with name, kind and all features, and knows its id once connected", async () => {
    await worker.connected();
    expect(worker.id).toBe("worker-1");
    expect(worker.connectionState).toBe("connected");
    const { data } = await engine.frame({ function_id: "engine::workers::register" });
    expect(data).toMatchObject({
      runtime: "node",
      version: "0.1.0",
      name: "probe",
      pid: process.pid,
      kind: "worker",
      isolation: null,
      features: [...FEATURES],
    });
    expect(workerIntroductionSchema.safeParse(data).success).toBe(true);
    expect((data as Frame).telemetry).toMatchObject({ framework: "svc-node" });
  });

  it("sends its headers with the upgrade", async () => {
    await open({ headers: { authorization: "Bearer t" } }).connected();
    expect(engine.headers.some((headers) => headers.authorization === "Bearer t")).toBe(true);
  });

  it("reports states, reconnects after a clean close, and replays", async () => {
    worker.registerFunction("math::add", () => 1);
    await worker.connected();
    await engine.frame({ type: "registerfunction", id: "math::add" });
    const states: string[] = [];
    const stop = worker.onConnectionState((state) => states.push(state));
    worker.onConnectionState(() => {
      throw new Error("a listener's own trouble");
    });
    engine.sockets[0]?.close(1000);
    await engine.frame({ type: "registerfunction", id: "math::add" }, 2);
    await worker.connected();
    expect(states).toEqual(["reconnecting", "connected"]);
    expect(engine.frames.find((frame) => frame.type === "reattach")).toEqual({
      type: "reattach",
      previous_worker_id: "worker-1",
      reattach_token: "token",
    });
    expect(worker.id).toBe("worker-2");
    stop();
  });

  it("connected() rejects with disconnected, naming address and cause, when the allowed attempts are used up", async () => {
    const { address } = engine;
    await engine.stop();
    const lonely = connect(address, {
      name: "lonely",
      logger: silentLogger,
      handleSignals: false,
      reconnect: { maxAttempts: 0 },
    });
    await expect(lonely.connected()).rejects.toMatchObject({
      code: "disconnected",
      message: expect.stringContaining(address),
    });
    expect(lonely.connectionState).toBe("failed");
    await expect(lonely.call({ function_id: "f" })).rejects.toMatchObject({ code: "disconnected" });
    await lonely.shutdown();
    engine = await FakeEngine.start();
  });

  it("connected() rejects at its timeout", async () => {
    const { port } = engine;
    await engine.stop();
    const lonely = connect(`ws://127.0.0.1:${port}`, { name: "lonely", logger: silentLogger, handleSignals: false });
    await expect(lonely.connected({ timeoutMs: 5 })).rejects.toMatchObject({
      code: "disconnected",
      message: expect.stringContaining("within 5 ms"),
    });
    await lonely.shutdown();
    engine = await FakeEngine.start();
  });

  it.each(["http://localhost", "localhost:49134", "", "ws://x/#y"])(
    "rejects the address %j with a TypeError",
    (address) => {
      expect(() => connect(address, { handleSignals: false })).toThrow(TypeError);
    },
  );

  it.each([{ callTimeoutMs: 0 }, { callTimeoutMs: 1.5 }, { name: "" }, { name: "a\nb" }])(
    "rejects the options %j with a TypeError",
    (options) => {
      expect(() => connect(engine.address, { handleSignals: false, ...options })).toThrow(TypeError);
    },
  );
});

describe("functions", () => {
  it("answers with the handler's result, sync or async", async () => {
    worker.registerFunction("math::add", (input: { a: number; b: number }) => ({ c: input.a + input.b }));
    worker.registerFunction("math::later", async (input: number) => Promise.resolve(input + 1));
    await engine.frame({ type: "registerfunction", id: "math::later" });
    engine.send(invoke("math::add", { a: 2, b: 3 }));
    expect(await answerOf()).toMatchObject({ function_id: "math::add", result: { c: 5 } });
    const other = ID.replaceAll("1", "2");
    engine.send(invoke("math::later", 1, { invocation_id: other }));
    expect(await answerOf(other)).toMatchObject({ result: 2 });
  });

  it("passes the context to the handler", async () => {
    let seen: CallContext | undefined;
    worker.registerFunction("f", (_input, context) => {
      seen = context;
    });
    await engine.frame({ type: "registerfunction", id: "f" });
    engine.send(
      invoke("f", 1, {
        caller: { worker_id: "w", name: "n" },
        job: { queue: "q", id: "j", attempt: 3 },
        metadata: { m: 1 },
        traceparent: TRACE,
        baggage: "b=1",
      }),
    );
    expect(await answerOf()).toEqual({ type: "invocationresult", invocation_id: ID, function_id: "f" });
    expect(seen).toMatchObject({
      caller: { workerId: "w", name: "n" },
      job: { queue: "q", id: "j", attempt: 3 },
      metadata: { m: 1 },
      invocationId: ID,
      functionId: "f",
      traceparent: TRACE,
      baggage: "b=1",
    });
    expect(seen?.signal.aborted).toBe(false);
  });

  it("reports the progress of its job, only while its call runs, and rejects what is no progress", async () => {
    let seen: CallContext["job"];
    let end = (): void => {};
    worker.registerFunction("f", (_input, { job }) => {
      seen = job;
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    await engine.frame({ type: "registerfunction", id: "f" });
    engine.send(invoke("f", 1, { job: { queue: "q", id: "j", attempt: 2 } }));
    await expect.poll(() => seen).toBeDefined();
    seen?.progress(0.4, "4 of 10 pages");
    const report = { function_id: "queue::report_progress" };
    expect(await engine.frame(report)).toMatchObject({
      action: { type: "void" },
      data: { queue: "q", job_id: "j", attempt: 2, progress: 0.4, note: "4 of 10 pages" },
    });
    for (const wrong of [-0.1, 1.1, Number.NaN, "1"])
      expect(() => seen?.progress(wrong as number)).toThrow("the progress of a job must be a number from 0 to 1");
    expect(() => seen?.progress(1, "x".repeat(257))).toThrow("at most 256 characters");
    end();
    await answerOf();
    seen?.progress(1);
    await worker.callVoid({ function_id: "after" });
    await engine.frame({ function_id: "after" });
    expect(engine.frames.filter(({ function_id }) => function_id === report.function_id)).toHaveLength(1);
  });

  it("sends the JSON Schema of a zod format and rejects payloads that do not match, naming the field", async () => {
    let ran = 0;
    worker.registerFunction(
      "math::add",
      (input) => {
        ran++;
        return { c: input.a + input.b };
      },
      {
        description: "Adds",
        requestFormat: z.object({ a: z.number(), b: z.number().default(1) }),
        responseFormat: z.object({ c: z.number() }),
        timeoutMs: 500,
      },
    );
    expect(await engine.frame({ type: "registerfunction", id: "math::add" })).toMatchObject({
      description: "Adds",
      timeout_ms: 500,
      request_format: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
      response_format: { type: "object", required: ["c"] },
    });
    engine.send(invoke("math::add", { a: 2 }));
    expect(await answerOf()).toMatchObject({ result: { c: 3 } });
    const other = ID.replaceAll("1", "2");
    engine.send(invoke("math::add", { a: "2" }, { invocation_id: other }));
    const answer = await answerOf(other);
    expect(answer.error).toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("`a`"),
      details: { function_id: "math::add", issues: [{ path: "a" }] },
    });
    expect(ran).toBe(1);
  });

  it("awaits a schema with asynchronous checks", async () => {
    const even = z.number().refine(async (n) => Promise.resolve(n % 2 === 0), "must be even");
    worker.registerFunction("half", (input) => input / 2, { requestFormat: even });
    await engine.frame({ type: "registerfunction", id: "half" });
    engine.send(invoke("half", 4));
    expect(await answerOf()).toMatchObject({ result: 2 });
    const other = ID.replaceAll("1", "2");
    engine.send(invoke("half", 3, { invocation_id: other }));
    expect((await answerOf(other)).error).toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("must be even"),
    });
  });

  it("passes a JSON Schema on unchanged", async () => {
    worker.registerFunction("f", () => 1, {
      requestFormat: { type: "object", additionalProperties: false },
      responseFormat: true,
    });
    expect(await engine.frame({ type: "registerfunction", id: "f" })).toMatchObject({
      request_format: { type: "object", additionalProperties: false },
      response_format: true,
    });
  });

  it.each<[string, unknown, Frame]>([
    [
      "a CallError",
      new CallError("too_small", "a is too small", { details: { min: 1 } }),
      { code: "too_small", message: "a is too small", details: { min: 1 } },
    ],
    ["an Error", new Error("boom"), { code: "invocation_failed", message: "boom" }],
    [
      "an Error of another kind",
      new TypeError("x is not a function"),
      { code: "invocation_failed", message: "TypeError: x is not a function" },
    ],
    [
      "an Error of another kind without a message",
      new RangeError(),
      { code: "invocation_failed", message: "RangeError" },
    ],
    [
      "an Error with a code of its own",
      Object.assign(new TypeError("none left"), { code: "sold_out" }),
      { code: "sold_out", message: "none left" },
    ],
    ["a string", "plain", { code: "invocation_failed", message: "plain" }],
    ["undefined", undefined, { code: "invocation_failed" }],
  ])("answers with the error when the handler throws %s, now or later", async (_what, thrown, error) => {
    worker.registerFunction("now", () => {
      throw thrown;
    });
    worker.registerFunction("later", async () => {
      await Promise.resolve();
      throw thrown;
    });
    await engine.frame({ type: "registerfunction", id: "later" });
    engine.send(invoke("now", 1));
    expect((await answerOf()).error).toMatchObject(error);
    const other = ID.replaceAll("1", "2");
    engine.send(invoke("later", 1, { invocation_id: other }));
    expect((await answerOf(other)).error).toMatchObject(error);
  });

  it("accepts a thrown value that throws when it is read", async () => {
    worker.registerFunction("f", () => {
      throw new Proxy(
        {},
        {
          has: () => {
            throw new Error("hands off");
          },
        },
      );
    });
    await engine.frame({ type: "registerfunction", id: "f" });
    engine.send(invoke("f", 1));
    expect((await answerOf()).error).toMatchObject({ code: "invocation_failed" });
  });

  it("aborts the handler's signal when the call is cancelled, and when the connection is lost", async () => {
    const started: CallContext[] = [];
    let onStart = (): void => {};
    worker.registerFunction("slow", (_input, context) => {
      started.push(context);
      onStart();
      return new Promise((_resolve, reject) =>
        context.signal.addEventListener("abort", () => reject(context.signal.reason)),
      );
    });
    await engine.frame({ type: "registerfunction", id: "slow" });
    const next = (): Promise<void> =>
      new Promise((resolve) => {
        onStart = resolve;
      });
    let ready = next();
    engine.send(invoke("slow", 1));
    await ready;
    const aborted = new Promise((resolve) => started[0]?.signal.addEventListener("abort", resolve));
    engine.send({ type: "cancelinvocation", invocation_id: ID, reason: "timeout" });
    await aborted;
    expect(started[0]?.signal.reason).toMatchObject({ code: "call_cancelled" });
    ready = next();
    engine.send(invoke("slow", 2, { invocation_id: ID.replaceAll("1", "2") }));
    await ready;
    const lost = new Promise((resolve) => started[1]?.signal.addEventListener("abort", resolve));
    engine.sockets.at(-1)?.terminate();
    await lost;
    expect(started[1]?.signal.reason).toMatchObject({ code: "disconnected" });
    await worker.connected();
    expect(engine.frames.filter((frame) => frame.type === "invocationresult")).toEqual([]);
  });

  it("logs for handlers with worker, function, call and trace", async () => {
    const records: LogRecord[] = [];
    const logging = open({ logger: createLogger({ level: "debug", write: (record) => records.push(record) }) });
    logging.registerFunction("f", (_input, { log }) => log.info("hello", { a: 1 }));
    await engine.frame({ type: "registerfunction", id: "f" });
    engine.send(invoke("f", 1, { traceparent: TRACE }));
    await answerOf();
    expect(records.find((record) => record.message === "hello")).toMatchObject({
      level: "info",
      fields: {
        worker: "probe",
        function_id: "f",
        invocation_id: ID,
        trace_id: "0af7651916cd43dd8448eb211c80319c",
        a: 1,
      },
    });
  });

  it("logs an error of a handler with its stack, but not a CallError, which is an answer", async () => {
    const records: LogRecord[] = [];
    const logging = open({ logger: createLogger({ level: "debug", write: (record) => records.push(record) }) });
    logging.registerFunction("f", (input) => {
      throw input === "answer" ? new CallError("mine", "m") : new TypeError("boom");
    });
    await engine.frame({ type: "registerfunction", id: "f" });
    const other = ID.replaceAll("1", "2");
    engine.send(invoke("f", "answer", { invocation_id: other }));
    await answerOf(other);
    engine.send(invoke("f", "defect"));
    await answerOf();
    const lines = records
      .filter((record) => record.message === "a handler failed")
      .map((record) => JSON.parse(jsonLine(record)) as unknown);
    expect(lines).toMatchObject([
      {
        level: "error",
        worker: "probe",
        function_id: "f",
        invocation_id: ID,
        error: { type: "TypeError", message: "boom", stack: expect.any(String) },
      },
    ]);
  });

  it("rejects a duplicate id, an invalid handler, and formats of other libraries, with TypeErrors", () => {
    worker.registerFunction("f", () => 1);
    expect(() => worker.registerFunction("f", () => 1)).toThrow(TypeError);
    expect(() => worker.registerFunction("g", 7 as unknown as () => unknown)).toThrow("must be a function");
    expect(() => worker.registerFunction("g", () => 1, { requestFormat: { _zod: {} } })).toThrow(
      "does not implement Standard Schema",
    );
    expect(() => worker.registerFunction("g", () => 1, { requestFormat: z.object({ big: z.bigint() }) })).toThrow(
      TypeError,
    );
    expect(() => worker.registerFunction("g", () => 1, { timeoutMs: 0 })).toThrow("timeoutMs");
  });

  it("unregisters its own registration only", async () => {
    const first = worker.registerFunction("f", () => "first");
    await engine.frame({ type: "registerfunction", id: "f" });
    first.unregister();
    await engine.frame({ type: "unregisterfunction", id: "f" });
    worker.registerFunction("f", () => "second");
    await engine.frame({ type: "registerfunction", id: "f" }, 2);
    first.unregister();
    engine.send(invoke("f", 1));
    expect(await answerOf()).toMatchObject({ result: "second" });
  });
});

describe("calls", () => {
  const echo = (frame: Frame): Frame | undefined =>
    frame.type === "invokefunction" && typeof frame.invocation_id === "string"
      ? {
          result: frame.data,
          type: "invocationresult",
          invocation_id: frame.invocation_id,
          function_id: frame.function_id,
          error: null,
        }
      : undefined;

  it("resolves with the result, also for a call made before the socket opened", async () => {
    engine.reply = echo;
    await expect(open().call({ function_id: "echo", payload: { a: [1, "ü", null] } })).resolves.toEqual({
      a: [1, "ü", null],
    });
  });

  it("makes a thousand concurrent calls over one connection", async () => {
    engine.reply = echo;
    await worker.connected();
    const results = await Promise.all(
      Array.from({ length: 1000 }, (_, n) => worker.call({ function_id: "echo", payload: n })),
    );
    expect(results).toEqual(Array.from({ length: 1000 }, (_, n) => n));
  });

  it("rejects with the callee's error", async () => {
    engine.reply = (frame) =>
      typeof frame.invocation_id === "string"
        ? {
            type: "invocationresult",
            invocation_id: frame.invocation_id,
            function_id: "f",
            error: { code: "mine", message: "no", details: { x: 1 } },
          }
        : undefined;
    const thrown: unknown = await worker.call({ function_id: "f" }).catch((error: unknown) => error);
    expect(CallError.is(thrown)).toBe(true);
    expect(thrown).toMatchObject({ code: "mine", message: "no", details: { x: 1 } });
  });

  it("times out, cancels at the engine, and rejects with call_timeout", async () => {
    await worker.connected();
    await expect(worker.call({ function_id: "slow", timeoutMs: 20 })).rejects.toMatchObject({
      code: "call_timeout",
      details: { timeout_ms: 20, function_id: "slow" },
    });
    const { invocation_id } = await engine.frame({ type: "invokefunction", function_id: "slow" });
    expect(await engine.frame({ type: "cancelinvocation" })).toEqual({
      type: "cancelinvocation",
      invocation_id,
      reason: "timeout",
    });
  });

  it("cancels all calls of a signal when it aborts, and rejects an aborted signal", async () => {
    await worker.connected();
    const controller = new AbortController();
    const calls = Array.from({ length: 20 }, () => worker.call({ function_id: "slow", signal: controller.signal }));
    const settled = Promise.allSettled(calls);
    controller.abort();
    for (const result of await settled)
      expect(result).toMatchObject({ status: "rejected", reason: { code: "call_cancelled" } });
    await engine.frame({ type: "cancelinvocation" }, 20);
    await expect(worker.call({ function_id: "slow", signal: controller.signal })).rejects.toMatchObject({
      code: "call_cancelled",
    });
  });

  it("callVoid resolves once sent and sends no invocation id; enqueue resolves with the receipt", async () => {
    engine.reply = (frame) =>
      (frame.action as Frame | undefined)?.type === "enqueue"
        ? {
            type: "invocationresult",
            invocation_id: frame.invocation_id,
            function_id: "f",
            result: { messageReceiptId: "r1" },
          }
        : undefined;
    await worker.connected();
    await expect(worker.callVoid({ function_id: "note", payload: 1 })).resolves.toBeUndefined();
    expect(await engine.frame({ function_id: "note" })).toEqual({
      type: "invokefunction",
      function_id: "note",
      action: { type: "void" },
      data: 1,
    });
    await expect(worker.enqueue({ queue: "mails", function_id: "send", payload: 2 })).resolves.toEqual({
      messageReceiptId: "r1",
    });
    expect(await engine.frame({ function_id: "send" })).toMatchObject({
      action: { type: "enqueue", queue: "mails" },
      data: 2,
    });
  });

  it("fails sent calls with disconnected when the connection ends, and does not send them again", async () => {
    await worker.connected();
    const call = worker.call({ function_id: "slow" });
    const failed = expect(call).rejects.toMatchObject({ code: "disconnected", executed: "unknown" });
    await engine.frame({ function_id: "slow" });
    engine.sockets[0]?.terminate();
    await failed;
    await worker.connected();
    expect(engine.frames.filter((frame) => frame.function_id === "slow")).toHaveLength(1);
  });

  it.each([
    [{ function_id: "" }, "invalid_name"],
    [{ function_id: 7 as unknown as string }, "invalid_name"],
    [{ function_id: "f", timeoutMs: 0 }, "invalid_input"],
    [{ function_id: "f", timeoutMs: Number.NaN }, "invalid_input"],
    [{ function_id: "f", payload: 1n }, "invalid_input"],
  ])("rejects %o with %s", async (request, code) => {
    await expect(worker.call(request)).rejects.toMatchObject({ code });
    await expect(worker.callVoid(request)).rejects.toMatchObject({ code });
  });

  it("passes trace and abort of the running call to calls of context.call, and the trace to those of worker.call", async () => {
    worker.registerFunction("outer", async (_input, { call }) => {
      await Promise.resolve();
      await Promise.all([
        call({ function_id: "inner" }),
        worker.call({ function_id: "other" }),
        call({ function_id: "free", signal: new AbortController().signal }),
      ]);
    });
    await engine.frame({ type: "registerfunction", id: "outer" });
    engine.send(invoke("outer", 1, { traceparent: TRACE, baggage: "b=1" }));
    for (const function_id of ["inner", "other", "free"])
      expect(await engine.frame({ function_id })).toMatchObject({ traceparent: TRACE, baggage: "b=1" });
    const { invocation_id } = await engine.frame({ function_id: "inner" });
    engine.send({ type: "cancelinvocation", invocation_id: ID });
    expect(await engine.frame({ type: "cancelinvocation" })).toMatchObject({ invocation_id, reason: "cancelled" });
    expect(engine.frames.filter((frame) => frame.type === "cancelinvocation")).toHaveLength(1);
  });
});

describe("triggers", () => {
  it("resolves registered with the first status, and never rejects", async () => {
    engine.reply = (frame) =>
      frame.type === "registertrigger"
        ? { type: "triggerregistrationresult", id: frame.id, trigger_type: "http", function_id: "f", status: "active" }
        : undefined;
    const trigger = worker.registerTrigger({
      type: "http",
      function_id: "f",
      config: { api_path: "/a" },
      metadata: { m: 1 },
    });
    await expect(trigger.registered).resolves.toEqual({ status: "active", reason: undefined });
    expect(await engine.frame({ type: "registertrigger" })).toEqual({
      type: "registertrigger",
      id: trigger.id,
      trigger_type: "http",
      function_id: "f",
      config: { api_path: "/a" },
      metadata: { m: 1 },
    });
    trigger.unregister();
    trigger.unregister();
    expect(await engine.frame({ type: "unregistertrigger" })).toEqual({
      type: "unregistertrigger",
      id: trigger.id,
      trigger_type: "http",
    });
    const silent = worker.registerTrigger({ type: "cron", function_id: "f", config: { expression: "@daily" } });
    silent.unregister();
    await expect(silent.registered).resolves.toMatchObject({ status: "inactive" });
    const closed = worker.registerTrigger({ type: "cron", function_id: "f", config: { expression: "@daily" } });
    await worker.shutdown();
    await expect(closed.registered).resolves.toMatchObject({ status: expect.stringMatching(/active|inactive/) });
  });

  it("provides a trigger type: binds, rejects and unbinds in order", async () => {
    const seen: string[] = [];
    worker.registerTriggerType(
      { id: "webhook", description: "d", triggerRequestFormat: { type: "object" } },
      {
        registerTrigger: async ({ id, config }) => {
          await Promise.resolve();
          if ((config as { path?: string }).path === undefined) throw new Error("path is missing");
          seen.push(`bound ${id}`);
        },
        unregisterTrigger: ({ id, functionId }) => {
          seen.push(`unbound ${id} ${functionId}`);
        },
      },
    );
    expect(await engine.frame({ type: "registertriggertype" })).toMatchObject({
      id: "webhook",
      trigger_request_format: { type: "object" },
    });
    const bind = (id: string, config: unknown): void =>
      engine.send({ type: "registertrigger", id, trigger_type: "webhook", function_id: "shop::paid", config });
    bind("t1", { path: "/p" });
    engine.send({ type: "unregistertrigger", id: "t1", trigger_type: "webhook" });
    bind("t2", {});
    expect(await engine.frame({ type: "triggerregistrationresult", id: "t2" })).toMatchObject({
      error: { code: "trigger_registration_failed", message: "path is missing" },
    });
    expect(seen).toEqual(["bound t1", "unbound t1 shop::paid"]);
  });
});

describe("shutdown", () => {
  it("unregisters, finishes the call in flight with the calls that it makes, rejects new ones, then closes", async () => {
    let go = (): void => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    worker.registerFunction("outer", async (_input, context) => {
      await gate;
      return [await context.call({ function_id: "inner" }), await worker.call({ function_id: "inner" })];
    });
    await engine.frame({ type: "registerfunction", id: "outer" });
    engine.send(invoke("outer", 1));
    engine.send({ type: "ping" });
    await engine.frame({ type: "pong" });
    engine.reply = (frame) =>
      frame.function_id === "inner"
        ? { type: "invocationresult", invocation_id: frame.invocation_id, function_id: "inner", result: 7 }
        : undefined;
    const closed = worker.shutdown();
    await engine.frame({ type: "unregisterfunction", id: "outer" });
    await expect(worker.call({ function_id: "inner" })).rejects.toMatchObject({ code: "draining" });
    expect(() => worker.registerFunction("late", () => 1)).toThrow("shutting down");
    go();
    expect(await answerOf()).toMatchObject({ result: [7, 7] });
    await closed;
    expect(worker.connectionState).toBe("closed");
    await expect(worker.call({ function_id: "inner" })).rejects.toMatchObject({ code: "draining" });
    await expect(worker.connected()).rejects.toMatchObject({ code: "disconnected" });
    expect(worker.shutdown()).toBe(worker.shutdown());
  });

  it("answers calls that the engine sent before it read that the functions are unregistered (P-5)", async () => {
    worker.registerFunction("add", (input) => ({ input }));
    await engine.frame({ type: "registerfunction", id: "add" });
    engine.beforePong = () => engine.send(invoke("add", 1));
    await worker.shutdown();
    expect(await answerOf()).toMatchObject({ result: { input: 1 } });
  });

  it("does not wait for an engine that closes the connection instead", async () => {
    worker.registerFunction("add", () => 1);
    await engine.frame({ type: "registerfunction", id: "add" });
    engine.beforePong = () => engine.sockets.at(-1)?.terminate();
    await worker.shutdown();
    expect(worker.connectionState).toBe("closed");
  });

  it("closes at its timeout although a handler hangs, aborts it and fails pending calls", async () => {
    let signal: AbortSignal | undefined;
    worker.registerFunction("hang", (_input, context) => {
      signal = context.signal;
      return new Promise(() => {});
    });
    await engine.frame({ type: "registerfunction", id: "hang" });
    engine.send(invoke("hang", 1));
    engine.send({ type: "ping" });
    await engine.frame({ type: "pong" });
    const call = expect(worker.call({ function_id: "slow" })).rejects.toMatchObject({ code: "disconnected" });
    await worker.shutdown({ timeoutMs: 20 });
    await call;
    expect(signal?.aborted).toBe(true);
  });

  it("fails calls that wait for the connection at once if there is none", async () => {
    await worker.connected();
    await engine.stop();
    await new Promise<void>((resolve) => {
      if (worker.connectionState === "reconnecting") resolve();
      else worker.onConnectionState((state) => state === "reconnecting" && resolve());
    });
    const call = expect(worker.call({ function_id: "f" })).rejects.toMatchObject({ code: "disconnected" });
    await worker.shutdown();
    await call;
    engine = await FakeEngine.start();
  });
});

describe("the browser entry", () => {
  it("works with the platform's global WebSocket", async () => {
    const { WebSocket } = await import("ws");
    const before = Object.getOwnPropertyDescriptor(globalThis, "WebSocket");
    Object.defineProperty(globalThis, "WebSocket", { value: WebSocket, configurable: true, writable: true });
    try {
      engine.reply = (frame) =>
        frame.function_id === "echo"
          ? { type: "invocationresult", invocation_id: frame.invocation_id, function_id: "echo", result: frame.data }
          : undefined;
      const page = connectBrowser(engine.address, { name: "page", kind: "console", logger: silentLogger });
      page.registerFunction("page::f", (input) => ({ input }));
      await page.connected();
      await expect(page.call({ function_id: "echo", payload: "hi" })).resolves.toBe("hi");
      engine.send(invoke("page::f", 1));
      expect(await answerOf()).toMatchObject({ result: { input: 1 } });
      const introductions = engine.frames
        .filter((frame) => frame.function_id === "engine::workers::register")
        .map((frame) => frame.data);
      expect(introductions).toContainEqual(
        expect.objectContaining({ runtime: "browser", name: "page", kind: "console" }),
      );
      await page.shutdown();
    } finally {
      if (before === undefined) Reflect.deleteProperty(globalThis, "WebSocket");
      else Object.defineProperty(globalThis, "WebSocket", before);
    }
  });
});

describe("an engine that is drained", () => {
  let next: FakeEngine;
  let roaming: Worker;
  const resultOf = ({ invocation_id, function_id }: Frame, result: unknown): Frame => ({
    ...{ type: "invocationresult", invocation_id, function_id, result },
  });

  beforeEach(async () => {
    await worker.connected();
    next = await FakeEngine.start();
    roaming = connect(`${engine.address},${next.address}`, {
      name: "roaming",
      logger: silentLogger,
      handleSignals: false,
      reconnect: { initialDelayMs: 1 },
    });
    extra.push(roaming);
    // The engine sends to the last connection.
    await roaming.connected();
  });
  afterEach(() => next.stop());

  it("is left for the next address when nothing is in flight, and calls made meanwhile go there", async () => {
    const first = roaming.call({ function_id: "first" });
    const sent = await engine.frame({ function_id: "first" });
    engine.send({ type: "draining" });
    engine.send({ type: "ping" });
    await engine.frame({ type: "pong" });
    const second = roaming.call({ function_id: "second" });
    engine.send(resultOf(sent, "here"));
    expect(await first).toBe("here");
    next.send(resultOf(await next.frame({ function_id: "second" }), "there"));
    expect(await second).toBe("there");
    expect(engine.frames.some(({ function_id }) => function_id === "second")).toBe(false);
  });

  it("is not left while a handler runs, which may need calls of its own", async () => {
    let finish = (): void => {};
    const running = new Promise<void>((started) => {
      roaming.registerFunction("slow", () => {
        started();
        return new Promise<void>((resolve) => {
          finish = resolve;
        });
      });
    });
    await engine.frame({ type: "registerfunction", id: "slow" });
    engine.send(invoke("slow", null));
    await running;
    engine.send({ type: "draining" });
    engine.send({ type: "ping" });
    await engine.frame({ type: "pong" });
    const inner = roaming.call({ function_id: "inner" });
    engine.send(resultOf(await engine.frame({ function_id: "inner" }), 1));
    expect(await inner).toBe(1);
    finish();
    await answerOf();
    engine.send({ type: "draining" });
    await next.frame({ type: "registerfunction", id: "slow" });
  });

  it("gets new calls again if those in flight take long", async () => {
    void roaming.call({ function_id: "long" }).catch(() => {});
    await engine.frame({ function_id: "long" });
    engine.send({ type: "draining" });
    engine.send({ type: "ping" });
    await engine.frame({ type: "pong" });
    void roaming.call({ function_id: "short" }).catch(() => {});
    await engine.frame({ function_id: "short" });
    expect(next.sockets).toHaveLength(0);
  });

  it("is left with calls in flight if it is cut off, but not again soon", async () => {
    const long = roaming.call({ function_id: "long" });
    const fails = expect(long).rejects.toMatchObject({ code: "disconnected" });
    await engine.frame({ function_id: "long" });
    engine.send({ type: "draining", within_ms: 0 });
    await fails;
    await next.frame({ function_id: "engine::workers::register" });
    await roaming.connected();
    next.send({ type: "draining", within_ms: 0 });
    next.send({ type: "ping" });
    await next.frame({ type: "pong" });
    void roaming.call({ function_id: "f" }).catch(() => {});
    await next.frame({ function_id: "f" });
  });

  it("is not left by a worker that shuts down, whose calls do not wait any more", async () => {
    const first = roaming.call({ function_id: "first" });
    const sent = await engine.frame({ function_id: "first" });
    engine.send({ type: "draining" });
    engine.send({ type: "ping" });
    await engine.frame({ type: "pong" });
    const second = roaming.call({ function_id: "second" });
    const down = roaming.shutdown();
    engine.send(resultOf(sent, 1));
    expect(await first).toBe(1);
    engine.send(resultOf(await engine.frame({ function_id: "second" }), 2));
    expect(await second).toBe(2);
    await down;
    expect(next.sockets).toHaveLength(0);
  });

  it("is not left by a worker that knows no other", async () => {
    const alone = open();
    await alone.connected();
    engine.send({ type: "draining" });
    engine.send({ type: "ping" });
    await engine.frame({ type: "pong" });
    const call = alone.call({ function_id: "f" });
    engine.send(resultOf(await engine.frame({ function_id: "f" }), 1));
    expect(await call).toBe(1);
  });
});
