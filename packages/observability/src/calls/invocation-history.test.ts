import { accessTo } from "@svc-runtime/engine/testing";
import { afterEach, describe, expect, test } from "vitest";
import { type ObservedEngine, observedEngine } from "./testing/observed-engine.ts";

interface Listed {
  readonly invocations: readonly Record<string, unknown>[];
  readonly cursor: string | null;
  readonly total: number;
}

let engine: ObservedEngine;
afterEach(() => engine.stop());

async function withWorker(
  config: Parameters<typeof observedEngine>[0] = {},
): Promise<Awaited<ReturnType<ObservedEngine["connectWorker"]>>> {
  engine = await observedEngine(config);
  const worker = await engine.connectWorker({ name: "math-worker" });
  worker.serve("math::add", (data) => data);
  worker.serve("math::break", () => {
    throw new Error("broken");
  });
  worker.serve("math::wait", () => new Promise(() => {}));
  await worker.call("engine::none");
  return worker;
}

const list = async (query: object = {}): Promise<Listed> =>
  (await engine.call("engine::invocations::list", query)) as Listed;
const ids = ({ invocations }: Listed): unknown[] => invocations.map((row) => row.invocation_id);

describe("the history of invocations", () => {
  test("lists calls with their worker, caller, source, outcome and sizes, newest first", async () => {
    const worker = await withWorker();
    await worker.call("math::add", { a: 1 });
    await worker.call("math::break", {});
    const { invocations, total, cursor } = await list({ worker: "math-worker" });
    expect([total, cursor]).toEqual([2, null]);
    expect(invocations).toMatchObject([
      { function_id: "math::break", status: "error", error: { code: "invocation_failed", message: "broken" } },
      {
        function_id: "math::add",
        status: "ok",
        worker: { id: worker.id, name: "math-worker" },
        caller: { worker_id: worker.id, name: "math-worker" },
        source: "call",
        input_bytes: 7,
        output_bytes: 7,
        trace_id: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
        span_id: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      },
    ]);
    expect(invocations[1]?.duration_ms).toBeGreaterThanOrEqual(0);
    expect(Math.abs((invocations[1]?.started_at_ms as number) - Date.now())).toBeLessThan(60_000);
  });

  test("filters by function, outcome, source and trace", async () => {
    const worker = await withWorker();
    const cli = await engine.connectWorker({ name: "svc call", kind: "cli" });
    await cli.call("math::add");
    await worker.call("math::break");
    worker.say({ type: "invokefunction", function_id: "math::wait", action: { type: "void" }, data: {} });
    await worker.call("engine::none");
    expect((await list({ source: "cli" })).invocations).toMatchObject([
      { function_id: "math::add", caller: { name: "svc call" } },
    ]);
    expect((await list({ status: "error", function_id: "math::break" })).total).toBe(1);
    const pending = await list({ status: "pending" });
    expect(pending.invocations).toMatchObject([{ function_id: "math::wait", duration_ms: null }]);
    expect(ids(await list({ trace_id: pending.invocations[0]?.trace_id }))).toEqual(ids(pending));
  });

  test("continues page by page while further calls arrive", async () => {
    const worker = await withWorker();
    for (let index = 0; index < 5; index++) await worker.call("math::add", index);
    const first = await list({ function_id: "math::add", limit: 2 });
    await worker.call("math::add", "new");
    const second = await list({ function_id: "math::add", limit: 2, cursor: first.cursor });
    const third = await list({ function_id: "math::add", limit: 2, cursor: second.cursor });
    expect([first, second, third].map(({ invocations }) => invocations.length)).toEqual([2, 2, 1]);
    expect(new Set([...ids(first), ...ids(second), ...ids(third)]).size).toBe(5);
    expect(third.cursor).toBeNull();
    await expect(list({ cursor: "nonsense" })).rejects.toMatchObject({ code: "invalid_input" });
  });

  test("returns the input and output of a call, with secrets masked", async () => {
    const worker = await withWorker();
    await worker.call("math::add", { user: "ann", password: "hush" });
    const [row] = (await list({ function_id: "math::add" })).invocations;
    const call = await engine.call("engine::invocations::get", { invocation_id: row?.invocation_id });
    expect(call).toMatchObject({
      ...row,
      input: { json: '{"user":"ann","password":"***"}', truncated: false },
      output: { truncated: false },
      error: null,
    });
    expect(await engine.call("engine::invocations::get", { invocation_id: crypto.randomUUID() })).toBeNull();
  });

  test("is bounded in number, and keeps failed calls longer than successful ones", async () => {
    const worker = await withWorker({ invocations_max_count: 20 });
    for (let index = 0; index < 3; index++) await worker.call("math::break", index);
    for (let index = 0; index < 200; index++) await worker.call("math::add", index);
    expect(engine.calls.history.size).toBeLessThanOrEqual(20);
    expect((await list({ function_id: "math::break" })).total).toBe(3);
    for (let index = 0; index < 200; index++) await worker.call("math::break", index);
    expect(engine.calls.history.size).toBeLessThanOrEqual(20);
  });

  test("is bounded in bytes, whatever the payloads", async () => {
    const worker = await withWorker({ invocations_max_bytes: 300_000 });
    for (let index = 0; index < 20; index++) await worker.call("math::add", "x".repeat(200_000));
    expect(engine.calls.history.bytes).toBeLessThan(300_000);
    expect((await list({ function_id: "math::add" })).total).toBeGreaterThan(0);
    engine.calls.history.clear();
    expect(engine.calls.history.bytes).toBe(0);
  });

  test("shows a call that outlasts many others, while it runs and when it has ended", async () => {
    await withWorker({ invocations_max_count: 8 });
    const abort = new AbortController();
    const waiting = engine.call("math::wait", {}, { signal: abort.signal });
    for (let index = 0; index < 50; index++) await engine.call("math::add", index);
    expect((await list({ status: "pending", function_id: "math::wait" })).total).toBe(1);
    abort.abort();
    await expect(waiting).rejects.toThrow();
    expect((await list({ status: "cancelled" })).invocations).toMatchObject([{ function_id: "math::wait" }]);
    expect(engine.calls.history.size).toBeLessThanOrEqual(8);
  });

  test("shows nothing when its limit is 0", async () => {
    const worker = await withWorker({ invocations_max_count: 0 });
    await worker.call("math::add");
    expect(await list()).toEqual({ invocations: [], cursor: null, total: 0 });
  });

  test("shows a restricted caller only calls of what it may call", async () => {
    const worker = await withWorker();
    await worker.call("math::add", { a: 1 });
    await worker.call("math::break", {});
    const all = await list();
    const guest = await engine.connectWorker({
      name: "guest",
      access: accessTo(["math::add", "engine::invocations::list", "engine::invocations::get"]),
    });
    const answer = await guest.call("engine::invocations::list", {});
    const seen = answer.result as Listed;
    expect(seen.invocations.map((row) => row.function_id)).toEqual(["math::add"]);
    expect(seen.total).toBe(1);
    const hidden = all.invocations.find((row) => row.function_id === "math::break");
    expect((await guest.call("engine::invocations::get", { invocation_id: hidden?.invocation_id })).result).toBeNull();
  });
});

test("engine::sampling::rules returns the sampling settings", async () => {
  await withWorker({ sampling_ratio: 0.5 });
  expect(await engine.call("engine::sampling::rules", {})).toMatchObject({
    traces: { default_ratio: 0.5, rules: [], parent_based: true, keep_errors: true, keep_slow_ms: 1_000 },
    logs: { sampling_ratio: 1 },
  });
});

test("workers that came and went are counted, commands are not", async () => {
  const worker = await withWorker();
  const cli = await engine.connectWorker({ kind: "cli" });
  await cli.call("engine::none");
  expect(engine.calls.workers).toMatchObject({ spawns: 1, deaths: 0, active: 1 });
  const gone = new Promise<void>((resolve) => {
    engine.directory.onChange(({ id, op }) => {
      if (id === worker.id && op === "removed") resolve();
    });
  });
  worker.close();
  await gone;
  expect(engine.calls.workers).toMatchObject({ spawns: 1, deaths: 1, active: 0 });
});
