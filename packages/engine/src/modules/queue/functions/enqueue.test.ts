import { type FunctionId, Payload } from "@svc-runtime/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { type ModuleEngine, moduleEngine } from "../testing/module-engine.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

let running: ModuleEngine | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

async function start(queues: Readonly<Record<string, unknown>> = {}): Promise<ModuleEngine> {
  running = await moduleEngine({ queues });
  return running;
}

describe("an unknown member", () => {
  const job = { queue: "default", function_id: "work" };
  it.each([
    ["queue::enqueue", { ...job, delay: 5 }, "the payload: unknown member `delay`"],
    [
      "queue::enqueue",
      { ...job, max_attempt: 5 },
      "the payload: unknown member `max_attempt`; did you mean max_attempts?",
    ],
    [
      "queue::enqueue_many",
      { jobs: [{ ...job, dedup_key: "k" }] },
      "`jobs.0`: unknown member `dedup_key`; did you mean dedupe_key?",
    ],
    ["queue::stats", { queue: "default", stat: 1 }, "unknown member `stat`"],
    ["queue::peek", { queue: "default", states: "dead" }, "unknown member `states`; did you mean state?"],
    ["queue::redrive", { queue: "default", jobids: ["a"] }, "unknown member `jobids`; did you mean job_ids?"],
    ["queue::list", { queue: "default" }, "unknown member `queue`"],
  ])("of %s is refused: %j", async (functionId, payload, message) => {
    const { call } = await start();
    await expect(call(functionId, payload)).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining(message),
    });
    expect(await call("queue::stats", { queue: "default" })).toMatchObject({ waiting: 0 });
  });

  it("is passed over when it begins with an underscore, and by the published id", async () => {
    const { call } = await start();
    await call("queue::enqueue", { ...job, _note: 1 });
    await call("engine::queue::enqueue", { ...job, note: 1 });
    await call("queue::list", null);
    expect(await call("queue::stats", { queue: "default" })).toMatchObject({ waiting: 2 });
  });
});

describe("the action enqueue", () => {
  it("is answered with a receipt before the function runs, and the function learns queue, id and attempt (gap 10)", async () => {
    const { engine, until } = await start();
    const worker = await engine.connectWorker();
    const seen: Record<string, unknown>[] = [];
    worker.serve("work", (data, frame) => seen.push({ data, job: frame.job }));
    const { result, error } = await worker.call("work", { n: 1 }, { action: { type: "enqueue", queue: "default" } });
    expect(error).toBeNull();
    expect(result).toEqual({ messageReceiptId: expect.stringMatching(UUID) });
    await until("it ran", () => seen.length === 1);
    const { messageReceiptId } = result as { messageReceiptId: string };
    expect(seen).toEqual([{ data: { n: 1 }, job: { queue: "default", id: messageReceiptId, attempt: 1 } }]);
  });

  it("tells published clients of the job in the metadata (gap 10)", async () => {
    const { engine, until } = await start();
    const worker = await engine.connectWorker({ features: [] });
    const seen: unknown[] = [];
    worker.serve("work", (_, frame) => seen.push(frame.metadata));
    const { result } = await worker.call("work", 1, { action: { type: "enqueue", queue: "default" } });
    await until("it ran", () => seen.length === 1);
    const { messageReceiptId } = result as { messageReceiptId: string };
    expect(seen).toEqual([{ svc: { job: { queue: "default", id: messageReceiptId, attempt: 1 } } }]);
  });

  it("fails with enqueue_error in the words that clients know", async () => {
    const { engine } = await start({ orders: { type: "fifo", message_group_field: "customer" } });
    const worker = await engine.connectWorker();
    const failure = async (queue: string, data: unknown) =>
      (await worker.call("work", data, { action: { type: "enqueue", queue } })).error;
    expect(await failure("nowhere", 1)).toMatchObject({ code: "enqueue_error", message: "Queue 'nowhere' not found" });
    const missing = "FIFO queue 'orders' requires field 'customer' in data, but it was not found";
    expect(await failure("orders", { other: 1 })).toMatchObject({ code: "enqueue_error", message: missing });
    expect(await failure("orders", "text")).toMatchObject({ code: "enqueue_error", message: missing });
    expect(await failure("orders", { customer: null })).toMatchObject({
      code: "enqueue_error",
      message: "FIFO queue 'orders': field 'customer' must not be null",
    });
  });

  it("hands the caller's trace and baggage to the function", async () => {
    const { engine, until } = await start();
    const worker = await engine.connectWorker();
    const seen: Record<string, unknown>[] = [];
    worker.serve("work", (_, frame) => seen.push(frame));
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await worker.call("work", 1, { action: { type: "enqueue", queue: "default" }, traceparent, baggage: "user=7" });
    await until("it ran", () => seen.length === 1);
    expect(String(seen[0]?.traceparent).slice(0, 36)).toBe(traceparent.slice(0, 36));
    expect(seen[0]?.baggage).toBe("user=7");
  });

  it("keeps every digit of the data", async () => {
    const { engine, call } = await start();
    const worker = await engine.connectWorker();
    const digits = '{"n":123456789012345678901234567890}';
    const id = crypto.randomUUID();
    const frame = `{"type":"invokefunction","invocation_id":"${id}","function_id":"f","action":{"type":"enqueue","queue":"default"},"data":${digits}}`;
    worker.send(frame);
    await worker.next((answer) => answer.type === "invocationresult" && answer.invocation_id === id);
    const input = Payload.fromText(`{"queue":"default","function_id":"f","data":${digits}}`);
    await engine.kernel.router.call("queue::enqueue" as FunctionId, input);
    await call("queue::enqueue_many", { jobs: [{ queue: "default", function_id: "f", data: 3 }] });
    const page = await engine.kernel.router.call("queue::peek" as FunctionId, Payload.fromValue({ queue: "default" }));
    expect(page.text().split(`"data":${digits}`)).toHaveLength(3);
  });
});

describe("queue::enqueue", () => {
  it("stores one job for a dedupe key, and answers that one to whoever comes second (gap 9)", async () => {
    const { call } = await start();
    const first = await call("queue::enqueue", { queue: "default", function_id: "f", data: 1, dedupe_key: "k" });
    expect(first).toEqual({ job_id: expect.stringMatching(UUID), duplicate: false });
    const second = await call("queue::enqueue", { queue: "default", function_id: "f", data: 2, dedupe_key: "k" });
    expect(second).toEqual({ job_id: first.job_id, duplicate: true });
    expect(await call("queue::stats", { queue: "default" })).toMatchObject({ waiting: 1 });
  });

  it("delays by a duration or until an instant, and runs what has the higher priority first (gap 9)", async () => {
    const { call, clock, engine, until } = await start({ q: { concurrency: 1 } });
    const job = (data: string, more: object) => ({ queue: "q", function_id: "f", data, ...more });
    await call("queue::enqueue", job("late", { run_at: new Date(clock.now() + 60_000).toISOString() }));
    await call("queue::enqueue", job("delayed", { delay_ms: 5_000 }));
    await call("queue::enqueue", job("low", { priority: 1 }));
    await call("queue::enqueue", job("high", { priority: 9 }));
    expect(await call("queue::stats", { queue: "q" })).toMatchObject({ waiting: 2, delayed: 2 });
    const { jobs } = await call<{ jobs: readonly { data: string; run_at: string }[] }>("queue::peek", {
      queue: "q",
      state: "delayed",
    });
    expect(jobs.map(({ data, run_at }) => [data, Date.parse(run_at) - clock.now()])).toEqual([
      ["delayed", 5_000],
      ["late", 60_000],
    ]);
    const worker = await engine.connectWorker();
    const seen: unknown[] = [];
    worker.serve("f", (data) => seen.push(data));
    await until("the two ran", () => seen.length === 2);
    clock.advance(5_000);
    await until("the delayed one ran", () => seen.length === 3);
    clock.advance(55_000);
    await until("the late one ran", () => seen.length === 4);
    expect(seen).toEqual(["high", "low", "delayed", "late"]);
  });

  it("takes many, all or none", async () => {
    const { call } = await start({ small: { max_depth: 2 } });
    const job = { queue: "small", function_id: "f", data: 1 };
    await expect(call("queue::enqueue_many", { jobs: [job, job, job] })).rejects.toMatchObject({ code: "queue_full" });
    expect(await call("queue::stats", { queue: "small" })).toMatchObject({ waiting: 0 });
    const { jobs } = await call<{ jobs: unknown[] }>("queue::enqueue_many", { jobs: [job, { ...job, data: 2 }] });
    expect(jobs).toHaveLength(2);
    await expect(call("queue::enqueue", job)).rejects.toMatchObject({
      code: "queue_full",
      details: { queue: "small", max_depth: 2 },
    });
  });

  it("refuses what makes no sense, and says what", async () => {
    const { call } = await start({ tiny: { max_job_bytes: 10 } });
    const job = { queue: "default", function_id: "f", data: 1 };
    await expect(call("queue::enqueue", { ...job, queue: "nowhere" })).rejects.toMatchObject({
      code: "queue_not_found",
      message: "Queue 'nowhere' not found",
    });
    await expect(call("queue::enqueue", { ...job, delay_ms: 1, run_at: 5 })).rejects.toMatchObject({
      code: "invalid_input",
    });
    await expect(call("queue::enqueue", { ...job, run_at: "tomorrow" })).rejects.toMatchObject({
      code: "invalid_input",
    });
    await expect(call("queue::enqueue", { ...job, queue: "tiny", data: "x".repeat(20) })).rejects.toMatchObject({
      code: "payload_too_large",
      details: { limit: 10 },
    });
  });

  it("runs jobs of one group in order and of others beside them, by the field of the data or the group of the job (gap 5)", async () => {
    const { call, engine, until } = await start({ orders: { type: "fifo", message_group_field: "customer" } });
    const worker = await engine.connectWorker();
    const started: string[] = [];
    const settle = new Map<string, () => void>();
    worker.serve("ship", (data) => {
      const { name } = data as { name: string };
      started.push(name);
      return new Promise<void>((resolve) => settle.set(name, resolve));
    });
    for (const [customer, name] of [
      ["a", "a1"],
      ["a", "a2"],
      [7, "seven"],
    ])
      await call("queue::enqueue", { queue: "orders", function_id: "ship", data: { customer, name } });
    await call("queue::enqueue", { queue: "orders", function_id: "ship", data: { name: "own" }, group: "a" });
    await until("two groups run", () => started.length === 2);
    expect(started).toEqual(["a1", "seven"]);
    settle.get("a1")?.();
    await until("the next of the group runs", () => started.length === 3);
    settle.get("a2")?.();
    await until("the last of the group runs", () => started.length === 4);
    expect(started).toEqual(["a1", "seven", "a2", "own"]);
    for (const end of settle.values()) end();
  });
});
