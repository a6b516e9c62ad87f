import { afterEach, describe, expect, it } from "vitest";
import { accessOfRole } from "../../testing/index.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { type ModuleEngine, moduleEngine } from "./testing/module-engine.ts";
import { temporaryFolder } from "./testing/queue-engine.ts";

const folder = temporaryFolder();
let running: ModuleEngine | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
  folder.remove();
});

async function start(options: Parameters<typeof moduleEngine>[0]): Promise<ModuleEngine> {
  running = await moduleEngine(options);
  return running;
}

interface DonePage {
  readonly jobs: readonly { readonly job_id: string; readonly result: unknown }[];
  readonly cursor: string | null;
}

/** Adds a job and resolves with its id when it is done. */
async function finish({ call, until }: ModuleEngine, job: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { done } = await call<{ done: number }>("queue::stats", { queue: "q" });
  const { job_id } = await call<{ job_id: string }>("queue::enqueue", { queue: "q", function_id: "work", ...job });
  await until("it is done", async () => (await call("queue::stats", { queue: "q" })).done === done + 1);
  return job_id;
}

describe.each(["in_memory", "file_based"])("a done job, stored %s", (adapter) => {
  const stored = adapter === "in_memory" ? {} : { dataDir: folder.path };

  it("is kept with its result, its duration and its failed attempts", async () => {
    const clock = manualClock();
    const own = await start({ ...stored, clock, queues: { q: { backoff_ms: 0 } } });
    const worker = await own.engine.connectWorker();
    let tries = 0;
    worker.serve("work", () => {
      tries += 1;
      if (tries === 1) throw new Error("not yet");
      clock.advance(250);
      return { total: 3 };
    });
    const { job_id } = await own.call<{ job_id: string }>("queue::enqueue", { queue: "q", function_id: "work" });
    await own.until("it is done", async () => {
      clock.advance(1);
      return (await own.call("queue::stats", { queue: "q" })).done === 1;
    });
    const job = await own.call("queue::get_job", { job_id });
    expect(job).toMatchObject({
      job_id,
      queue: "q",
      function_id: "work",
      state: "done",
      attempts: 1,
      duration_ms: 250,
      ended_at: expect.any(String),
      result: { total: 3 },
      result_kept: true,
      made_by: null,
      failures: [{ attempt: 1, message: "not yet" }],
    });
    expect(job).not.toHaveProperty("data");
    expect(await own.call("queue::peek", { queue: "q", state: "done" })).toEqual({ jobs: [job], cursor: null });
    expect(await own.call("queue::stats", { queue: "q" })).toMatchObject({ kept: 1, bytes: 0, active: 0 });
    await expect(own.call("queue::cancel", { job_id })).rejects.toMatchObject({
      code: "job_not_found",
      message: `job ${job_id} has already succeeded`,
    });
  });

  it("is listed with the latest first, page by page, and gives way to newer ones", async () => {
    const own = await start({ ...stored, queues: { q: { keep_completed: { count: 3 } } } });
    const worker = await own.engine.connectWorker();
    worker.serve("work", (data) => data);
    for (const data of [1, 2, 3, 4, 5]) await finish(own, { data });
    const first = await own.call<DonePage>("queue::peek", { queue: "q", state: "done", limit: 2 });
    expect(first.jobs.map(({ result }) => result)).toEqual([5, 4]);
    const { cursor } = first;
    const second = await own.call<DonePage>("queue::peek", { queue: "q", state: "done", limit: 2, cursor });
    expect(second.jobs.map(({ result }) => result)).toEqual([3]);
    expect(second.cursor).toBeNull();
  });

  it("is deleted when it was kept long enough", async () => {
    const clock = manualClock();
    const own = await start({ ...stored, clock, queues: { q: { keep_completed: { age: 600 } } } });
    (await own.engine.connectWorker()).serve("work", () => "the result");
    const job_id = await finish(own);
    const kept = async () => (await own.call("queue::stats", { queue: "q" })).kept;
    for (let ms = 0; ms < 540_000; ms += 60_000) clock.advance(60_000);
    expect(await kept()).toBe(1);
    await own.until("it is gone", async () => {
      clock.advance(60_000);
      return (await kept()) === 0;
    });
    await expect(own.call("queue::get_job", { job_id })).rejects.toMatchObject({ code: "job_not_found" });
  });

  it("keeps no result of more than 64 KiB", async () => {
    const own = await start({ ...stored, queues: { q: {} } });
    (await own.engine.connectWorker()).serve("work", (data) => "x".repeat(Number(data)));
    const small = await finish(own, { data: 65_534 });
    const large = await finish(own, { data: 65_535 });
    expect(await own.call("queue::get_job", { job_id: small })).toMatchObject({
      result: "x".repeat(65_534),
      result_kept: true,
    });
    expect(await own.call("queue::get_job", { job_id: large })).toMatchObject({ result: null, result_kept: false });
  });

  it("does not keep another from having its id", async () => {
    const own = await start({ ...stored, queues: { q: {} } });
    const results = ["first", "second"];
    (await own.engine.connectWorker()).serve("work", () => results.shift());
    const job = { queue: "q", function_id: "work", messageReceiptId: "order-17" };
    for (const done of [1, 2]) {
      await own.call("engine::queue::enqueue", job);
      await own.until("it is done", async () => (await own.call("queue::stats", { queue: "q" })).done === done);
    }
    expect(await own.call("queue::get_job", { job_id: "order-17" })).toMatchObject({ result: "second" });
    expect(await own.call("queue::stats", { queue: "q" })).toMatchObject({ kept: 1 });
  });

  it("is not kept if the queue keeps none", async () => {
    const own = await start({ ...stored, queues: { q: { keep_completed: { count: 0 } } } });
    (await own.engine.connectWorker()).serve("work", () => 1);
    const job_id = await finish(own);
    await expect(own.call("queue::get_job", { job_id })).rejects.toMatchObject({ code: "job_not_found" });
    expect(await own.call("queue::stats", { queue: "q" })).toMatchObject({ kept: 0 });
  });
});

it("done jobs are kept over a restart", async () => {
  const before = await start({ dataDir: folder.path, queues: { q: {} } });
  (await before.engine.connectWorker()).serve("work", () => "the result");
  const job_id = await finish(before);
  await before.stop();
  const after = await start({ dataDir: folder.path, queues: { q: {} } });
  expect(await after.call("queue::get_job", { job_id })).toMatchObject({ state: "done", result: "the result" });
});

it("one restricted principal has an eighth of the done jobs that are kept, and displaces its own beyond it", async () => {
  const own = await start({ queues: { q: { keep_completed: { count: 8 } } } });
  (await own.engine.connectWorker()).serve("work", (data) => data);
  for (const data of [1, 2, 3, 4, 5, 6, 7]) await finish(own, { data });
  const may = ["work", "queue::enqueue"];
  const enqueue = async (role: string, data: string): Promise<void> => {
    const guest = await own.engine.connectWorker({ access: accessOfRole(role, may) });
    const { done } = await own.call<{ done: number }>("queue::stats", { queue: "q" });
    await guest.call("queue::enqueue", { queue: "q", function_id: "work", data });
    await own.until("it is done", async () => (await own.call("queue::stats", { queue: "q" })).done === done + 1);
  };
  for (const data of ["a1", "a2", "a3"]) await enqueue("a", data);
  await enqueue("b", "b1");
  const { jobs } = await own.call<DonePage>("queue::peek", { queue: "q", state: "done" });
  // The oldest of all gave way to b's.
  expect(jobs.map(({ result }) => result)).toEqual(["b1", "a3", 7, 6, 5, 4, 3, 2]);
});
