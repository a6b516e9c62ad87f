import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeEngine } from "../fake-engine.test.support.ts";
import { silentLogger } from "../logger.ts";
import { connect, type Worker } from "../node.ts";

const answers: Readonly<Record<string, unknown>> = {
  "state::set": { old_value: { job_id: 1 }, new_value: { some_key: 2 }, version: 3 },
  "state::update": {
    old_value: null,
    new_value: 1,
    version: 1,
    errors: [{ op_index: 0, code: "c", message: "m" }],
  },
  "state::get": { updated_at: "mine" },
  "state::entries": {
    items: [{ key: "a", value: { updated_at: 1 }, updated_at: "t", expires_at: "u", version: 1, bytes: 1 }],
    cursor: null,
    total: 1,
  },
  "queue::get_job": {
    job_id: "j",
    function_id: "f",
    data: { trace_id: 1 },
    made_by: { principal: "role guest", role: "guest" },
    failures: [{ attempt: 1, trace_id: "x" }],
  },
  "cron::list": { triggers: [{ trigger_id: "t", last_run: { scheduled_time: "s" } }], cursor: null },
  "cron::trigger_now": { trigger_id: "t", started_at: "s", result: { started_at: "mine" } },
};

let engine: FakeEngine;
let worker: Worker;
let warnings: string[];

beforeEach(async () => {
  warnings = [];
  vi.spyOn(console, "warn").mockImplementation((text: string) => warnings.push(text));
  engine = await FakeEngine.start();
  engine.reply = ({ type, invocation_id, function_id }) =>
    type === "invokefunction" && invocation_id !== undefined
      ? { type: "invocationresult", invocation_id, function_id, result: answers[String(function_id)] ?? null }
      : undefined;
  worker = connect(engine.address, { logger: silentLogger, handleSignals: false });
});

afterEach(async () => {
  vi.restoreAllMocks();
  await worker.shutdown({ timeoutMs: 1 });
  await engine.stop();
});

describe("results of the engine", () => {
  it("have members in camelCase; values of users are unchanged", async () => {
    const { state, queue, cron } = worker;
    expect(await state.set("s", "k", 1)).toEqual({ oldValue: { job_id: 1 }, newValue: { some_key: 2 }, version: 3 });
    expect((await state.update("s", "k", [])).errors).toEqual([{ opIndex: 0, code: "c", message: "m" }]);
    expect(await state.get("s", "k")).toEqual({ updated_at: "mine" });
    expect((await state.entriesPage("s")).items).toEqual([
      { key: "a", value: { updated_at: 1 }, updatedAt: "t", expiresAt: "u", version: 1, bytes: 1 },
    ]);
    expect(await queue.getJob("j")).toEqual({
      jobId: "j",
      functionId: "f",
      data: { trace_id: 1 },
      madeBy: { principal: "role guest", role: "guest" },
      failures: [{ attempt: 1, traceId: "x" }],
    });
    expect(await cron.list()).toEqual([{ triggerId: "t", lastRun: { scheduledTime: "s" } }]);
    expect(await cron.triggerNow("t")).toEqual({ triggerId: "t", startedAt: "s", result: { started_at: "mine" } });
    expect(warnings).toEqual([]);
  });

  it("have only their present names in copies and in what a handler returns", async () => {
    const present = { oldValue: { job_id: 1 }, newValue: { some_key: 2 }, version: 3 };
    expect(Object.keys({ ...(await worker.state.set("s", "k", 1)) })).toEqual(Object.keys(present));
    worker.registerFunction("f", () => worker.state.set("s", "k", 1));
    await engine.frame({ type: "registerfunction" });
    const invocation_id = crypto.randomUUID();
    engine.send({ type: "invokefunction", invocation_id, function_id: "f", data: null });
    expect((await engine.frame({ type: "invocationresult", invocation_id })).result).toEqual(present);
    expect(warnings).toEqual([]);
  });

  it("still answer to their old names, which are not enumerable, with one warning for each", async () => {
    const first = await worker.state.set("s", "k", 1);
    const second = await worker.state.set("s", "k", 1);
    expect([first.old_value, second.old_value]).toEqual([{ job_id: 1 }, { job_id: 1 }]);
    expect(JSON.parse(JSON.stringify(first))).toEqual({
      oldValue: { job_id: 1 },
      newValue: { some_key: 2 },
      version: 3,
    });
    expect(warnings).toEqual([
      "svc: the member old_value of results is deprecated and will be removed in the next release; use oldValue",
    ]);
  });
});

describe("deprecated options", () => {
  it("work, with one warning for each option of a method", async () => {
    for (let times = 0; times < 2; times++) await worker.state.get("s", "k", { timeout_ms: 5_000 });
    expect(engine.frames.filter(({ function_id }) => function_id === "state::get")).toMatchObject([
      { timeout_ms: 5_000 },
      { timeout_ms: 5_000 },
    ]);
    expect(warnings).toEqual([
      "svc: the option timeout_ms of state.get is deprecated and will be removed in the next release; use timeoutMs",
    ]);
    await worker.call({ function_id: "f", timeout_ms: 6_000 });
    worker.registerFunction("f", () => 1, { request_format: { type: "object" }, timeout_ms: 7 });
    expect(await engine.frame({ type: "registerfunction" })).toMatchObject({
      request_format: { type: "object" },
      timeout_ms: 7,
    });
    worker.registerTriggerType(
      { id: "t", description: "d", trigger_request_format: true },
      { registerTrigger: () => {}, unregisterTrigger: () => {} },
    );
    expect(await engine.frame({ type: "registertriggertype" })).toMatchObject({ trigger_request_format: true });
    expect(warnings).toHaveLength(5);
  });

  it("are not the names that the specification writes out", async () => {
    await worker.call({ function_id: "f" });
    await worker.call({ functionId: "f" });
    worker.registerTrigger({ type: "http", function_id: "f", config: { api_path: "/a", http_method: "GET" } });
    worker.registerTrigger({ type: "http", functionId: "f", config: { apiPath: "/a", httpMethod: "GET" } });
    await engine.frame({ type: "registertrigger" }, 2);
    const [a, b] = engine.frames
      .filter(({ type }) => type === "registertrigger")
      .map(({ function_id, config }) => ({ function_id, config }));
    expect(a).toEqual({ function_id: "f", config: { api_path: "/a", http_method: "GET" } });
    expect(b).toEqual(a);
    expect(engine.frames.filter(({ function_id }) => function_id === "f")).toHaveLength(4);
    expect(warnings).toEqual([]);
  });
});

describe("the config of a trigger", () => {
  it("is sent under the names of the wire", async () => {
    worker.registerTrigger({
      type: "http",
      functionId: "f",
      config: {
        apiPath: "/a",
        middlewareFunctionIds: ["m", { functionId: "n", withBody: true }],
        rateLimit: { requests: 5, perMs: 1_000 },
        cors: { allowedOrigins: ["https://a"], maxAge: 5 },
        bodyLimitBytes: 10,
      },
    });
    expect(await engine.frame({ type: "registertrigger" })).toMatchObject({
      config: {
        api_path: "/a",
        middleware_function_ids: ["m", { function_id: "n", with_body: true }],
        rate_limit: { requests: 5, per_ms: 1_000 },
        cors: { allowed_origins: ["https://a"], max_age: 5 },
        body_limit_bytes: 10,
      },
    });
    worker.registerTrigger({
      type: "durable:subscriber",
      functionId: "f",
      config: { topic: "t", queueConfig: { maxRetries: 3 }, conditionFunctionId: "c" },
    });
    await engine.frame({ type: "registertrigger" }, 2);
    expect(engine.frames.filter(({ type }) => type === "registertrigger")[1]).toMatchObject({
      config: { topic: "t", queue_config: { maxRetries: 3 }, condition_function_id: "c" },
    });
    expect(warnings).toEqual([]);
  });

  it("keeps its old names", async () => {
    worker.registerTrigger({
      type: "state",
      functionId: "f",
      config: { event_types: ["created"], condition_function_id: "c" },
    });
    expect(await engine.frame({ type: "registertrigger" })).toMatchObject({
      config: { event_types: ["created"], condition_function_id: "c" },
    });
    expect(warnings).toHaveLength(2);
  });
});
