import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { authResultSchema, grantsOfAuthResult } from "../../access/grants.ts";
import { policyOf } from "../../access/policy.ts";
import { SessionAccess } from "../../access/session-access.ts";
import { type InMemoryEngine, inMemoryEngine, type ManualClock, manualClock } from "../../testing/index.ts";
import { cron } from "./index.ts";
import { bind, cronEngine, gate, history, pass, settled, ticking, turns } from "./testing/cron-engine.ts";

let clock: ManualClock;
let engine: InMemoryEngine;

beforeEach(async () => {
  clock = manualClock(Date.UTC(2026, 0, 1));
  engine = await cronEngine({ clock });
});
afterEach(() => engine.stop());

it("a member that a function does not know is refused", async () => {
  const { worker } = await ticking(engine);
  await bind(engine, worker, { expression: "@hourly" }, { id: "t" });
  await expect(engine.call("cron::history", { trigger_id: "t", limt: 5 })).rejects.toMatchObject({
    message: "cron::history: the payload: unknown member `limt`; did you mean limit?",
  });
  await expect(engine.call("cron::list", { limits: 5 })).rejects.toMatchObject({ code: "invalid_input" });
  await expect(engine.call("cron::pause", { trigger_id: "t", until: 5 })).rejects.toMatchObject({
    code: "invalid_input",
  });
});

describe("cron::list", () => {
  it("tells the next five runs in UTC, the last one, and how the trigger is set (gap 20)", async () => {
    const { worker } = await ticking(engine);
    await bind(
      engine,
      worker,
      { expression: "0 9 * * MON-FRI", timezone: "europe/berlin", overlap: "queue_one", misfire: "once" },
      { id: "t" },
    );
    await pass(engine, clock, "t", 86_400_000, 3_600_000);
    expect(await engine.call("cron::list", {})).toEqual({
      triggers: [
        {
          trigger_id: "t",
          function_id: "on::tick",
          expression: "0 9 * * MON-FRI",
          timezone: "Europe/Berlin",
          status: "active",
          next_runs: ["02", "05", "06", "07", "08"].map((day) => `2026-01-${day}T08:00:00.000Z`),
          last_run: {
            scheduled_time: "2026-01-01T08:00:00.000Z",
            started_at: "2026-01-01T08:00:00.000Z",
            finished_at: "2026-01-01T08:00:00.000Z",
            outcome: "ok",
          },
          overlap: "queue_one",
          misfire: "once",
          queue: null,
        },
      ],
      cursor: null,
      total: 1,
    });
  });

  it("says why a trigger is inactive, and comes in pages", async () => {
    const { worker } = await ticking(engine);
    for (const hour of [1, 2, 3]) await bind(engine, worker, { expression: `0 ${hour} * * *` }, { id: `t${hour}` });
    await bind(engine, worker, { expression: "@daily" }, { id: "lost", functionId: "no::such" });
    const first = (await engine.call("cron::list", { limit: 3 })) as {
      readonly triggers: { readonly trigger_id: string }[];
      readonly cursor: string;
    };
    expect(first.triggers.map((trigger) => trigger.trigger_id)).toEqual(["t1", "t2", "t3"]);
    expect(await engine.call("cron::list", { limit: 3, cursor: first.cursor })).toMatchObject({
      triggers: [{ trigger_id: "lost", status: "inactive", reason: "no live worker provides no::such" }],
      cursor: null,
      total: 4,
    });
  });
});

describe("cron::trigger_now", () => {
  it("runs the function at once, answers with its result, and leaves the schedule as it was (gap 20)", async () => {
    const { worker, ticks } = await ticking(engine, "on::tick", () => ({ sent: 3 }));
    await bind(engine, worker, { expression: "@hourly" }, { id: "t" });
    clock.advance(1_500);
    expect(await engine.call("cron::trigger_now", { trigger_id: "t" })).toEqual({
      trigger_id: "t",
      function_id: "on::tick",
      scheduled_time: "2026-01-01T00:00:01.500Z",
      started_at: "2026-01-01T00:00:01.500Z",
      finished_at: "2026-01-01T00:00:01.500Z",
      outcome: "ok",
      manual: true,
      result: { sent: 3 },
    });
    expect(ticks).toMatchObject([
      { trigger: "cron", job_id: "t", scheduled_time: "2026-01-01T00:00:01.500Z", manual: true },
    ]);
    await pass(engine, clock, "t", 3_600_000, 600_000);
    expect((await history(engine, "t")).map((line) => [line.manual, line.outcome])).toEqual([
      [undefined, "ok"],
      [true, "ok"],
    ]);
  });

  it("tells of a failure, of a run that goes on, and of an id that is none (gap 20)", async () => {
    const open = gate();
    const { worker, count } = await ticking(engine, "on::tick", async () => {
      await open.passed;
      throw new Error("broken");
    });
    await bind(engine, worker, { expression: "@hourly" }, { id: "t" });
    const first = engine.call("cron::trigger_now", { trigger_id: "t" });
    await count(1);
    expect(await engine.call("cron::trigger_now", { trigger_id: "t" })).toMatchObject({
      outcome: "skipped",
      started_at: null,
      error: "the previous run had not ended",
    });
    open.open();
    expect(await first).toMatchObject({ outcome: "error", error: "invocation_failed: broken" });
    await expect(engine.call("cron::trigger_now", { trigger_id: "x" })).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: "Cron trigger 'x' not found",
    });
  });
});

describe("cron::pause", () => {
  it("starts no tick until the trigger is resumed, and nothing is caught up then (gap 20)", async () => {
    const { worker, times } = await ticking(engine);
    await bind(engine, worker, { expression: "0 * * * * *", misfire: "all" }, { id: "t" });
    await pass(engine, clock, "t", 60_000, 10_000);
    expect(await engine.call("cron::pause", { trigger_id: "t" })).toEqual({
      trigger_id: "t",
      status: "paused",
      next_runs: [],
    });
    await pass(engine, clock, "t", 150_000, 10_000);
    expect(await engine.call("cron::trigger_now", { trigger_id: "t" })).toMatchObject({ outcome: "ok" });
    expect(await engine.call("cron::resume", { trigger_id: "t" })).toMatchObject({
      status: "active",
      next_runs: { 0: "2026-01-01T00:04:00.000Z" },
    });
    await pass(engine, clock, "t", 60_000, 10_000);
    expect(times().map((time) => time.slice(14, 23))).toEqual(["01:00.000", "03:30.000", "04:00.000"]);
  });

  it("of a trigger that is not paused changes nothing when it is resumed", async () => {
    const { worker } = await ticking(engine);
    await bind(engine, worker, { expression: "@hourly" }, { id: "t" });
    expect(await engine.call("cron::resume", { trigger_id: "t" })).toMatchObject({ status: "active" });
  });
});

it("a restricted connection sees and runs only what it may call", async () => {
  const { worker } = await ticking(engine, "secret");
  worker.serve("open", () => 1);
  await bind(engine, worker, { expression: "@hourly" }, { id: "a", functionId: "secret" });
  await bind(engine, worker, { expression: "@hourly" }, { id: "b", functionId: "open" });
  const rules = {
    token: undefined,
    tokenRequired: false,
    middlewareFunctionId: undefined,
    rbac: {
      authFunctionId: undefined,
      exposeFunctions: [],
      onFunctionRegistrationFunctionId: undefined,
      onTriggerRegistrationFunctionId: undefined,
      onTriggerTypeRegistrationFunctionId: undefined,
      roles: [],
      tokens: [],
    },
  };
  const grants = grantsOfAuthResult(
    authResultSchema.parse({ allowed_functions: ["open", "cron::list", "cron::trigger_now", "cron::pause"] }),
    "auth",
  );
  const guest = await engine.connectWorker({ access: new SessionAccess(grants, policyOf(rules)) });
  expect(await guest.call("cron::list", {})).toMatchObject({ result: { triggers: [{ trigger_id: "b" }], total: 1 } });
  for (const id of ["cron::trigger_now", "cron::pause"])
    expect(await guest.call(id, { trigger_id: "a" })).toMatchObject({ error: { code: "NOT_FOUND" } });
  expect(await guest.call("cron::trigger_now", { trigger_id: "b" })).toMatchObject({ result: { outcome: "ok" } });
});

describe("a trigger with a queue", () => {
  const bound = async (handle: (job: unknown) => unknown) => {
    const { worker } = await ticking(engine);
    const jobs: Record<string, unknown>[] = [];
    const queue = await engine.connectWorker({ name: "queue" });
    queue.serve("engine::queue::enqueue", (job) => {
      jobs.push(job as Record<string, unknown>);
      return handle(job);
    });
    await turns();
    await bind(engine, worker, { expression: "0 * * * * *", queue: "mail" }, { id: "t" });
    return { jobs, queue };
  };

  it("puts a job for its function on it, with the tick as its dedupe key (T-6) (gap 18)", async () => {
    const { jobs } = await bound(() => ({ messageReceiptId: "1" }));
    await pass(engine, clock, "t", 60_000, 10_000);
    expect(jobs).toEqual([
      {
        queue: "mail",
        function_id: "on::tick",
        data: {
          trigger: "cron",
          job_id: "t",
          scheduled_time: "2026-01-01T00:01:00.000Z",
          actual_time: "2026-01-01T00:01:00.000Z",
        },
        options: { dedupe_key: expect.stringMatching(/^cron:[0-9a-f]{32}:2026-01-01T00:01:00\.000Z$/) },
      },
    ]);
    expect(await history(engine, "t")).toMatchObject([{ outcome: "enqueued" }]);
  });

  it("tells in its history why a job was not taken, and waits while there is no queue (T-6)", async () => {
    const { queue } = await bound(() => {
      throw Object.assign(new Error("the queue mail is full"), { code: "queue_full" });
    });
    await pass(engine, clock, "t", 60_000, 10_000);
    expect(await history(engine, "t")).toMatchObject([
      { outcome: "error", error: expect.stringContaining("the queue mail is full") },
    ]);
    queue.close();
    await turns();
    expect(await engine.call("cron::list")).toMatchObject({
      triggers: [{ status: "inactive", reason: expect.stringContaining("engine::queue::enqueue") }],
    });
  });
});

it("takes the adapters of older configs, and says that they have no effect", async () => {
  for (const adapter of [
    { name: "kv", config: { lock_ttl_ms: 30_000, lock_index: "cron_locks" } },
    { name: "redis", config: { redis_url: "redis://localhost:6379" } },
  ]) {
    const older = await inMemoryEngine({ modules: [cron], config: { "svc-cron": { adapter } } });
    expect(older.logs).toMatchObject([
      {
        level: "warn",
        message: expect.stringMatching(/adapter of svc-cron is ignored/),
        fields: { adapter: adapter.name },
      },
      {},
    ]);
    await older.stop();
  }
});

it("runs no more at a time than it may, and the others in their turn", async () => {
  const open = gate();
  const few = await inMemoryEngine({ modules: [cron], config: { "svc-cron": { max_running: 2 } }, clock });
  const { worker, ticks } = await ticking(few, "on::tick", () => open.passed);
  for (const id of ["t1", "t2", "t3", "t4", "t5"])
    await bind(few, worker, { expression: `*/20 * * * * *`, start_at: `2026-01-01T00:00:0${id.slice(1)}Z` }, { id });
  await pass(few, clock, "t1", 20_000, 5_000);
  expect(ticks).toHaveLength(2);
  // Ticks that are due while the first ones wait are skipped.
  await pass(few, clock, "t1", 9_000, 3_000);
  clock.advance(11_000);
  expect(ticks).toHaveLength(2);
  open.open();
  for (let round = 0; round < 4; round++) await settled(few, "t1");
  expect(ticks.map((tick) => `${tick.job_id} ${tick.scheduled_time.slice(17, 19)}`).sort()).toEqual([
    "t1 20",
    "t2 20",
    "t3 20",
    "t4 20",
    "t5 20",
  ]);
  await few.stop();
});
