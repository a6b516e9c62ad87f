import { afterEach, describe, expect, it } from "vitest";
import type { InMemoryWorker } from "../../testing/in-memory-engine.ts";
import { accessOfRole } from "../../testing/index.ts";
import { type ModuleEngine, moduleEngine } from "./testing/module-engine.ts";

let running: ModuleEngine | undefined;
const held: ((error?: Error) => void)[] = [];
afterEach(async () => {
  for (const end of held.splice(0)) end();
  await running?.stop();
  running = undefined;
});

/** A job that runs on `worker` until the test ends. */
async function runningJob(worker?: InMemoryWorker) {
  const own = running ?? (await moduleEngine({ queues: { q: { backoff_ms: 0 } } }));
  running = own;
  const runner = worker ?? (await own.engine.connectWorker());
  runner.serve(
    "work",
    () =>
      new Promise((resolve, reject) => {
        held.push((error) => (error === undefined ? resolve(null) : reject(error)));
      }),
  );
  await own.until("it is there", () => own.engine.directory.functionById("work") !== undefined);
  const { job_id } = await own.call<{ job_id: string }>("queue::enqueue", { queue: "q", function_id: "work" });
  await own.until("it runs", () => held.length === 1);
  return { ...own, worker: runner, job_id, report: { queue: "q", job_id, attempt: 1, progress: 0.4 } };
}

describe("the progress of a job", () => {
  it("is what its running attempt reported last", async () => {
    const { call, worker, job_id, report } = await runningJob();
    expect(await call("queue::get_job", { job_id })).toMatchObject({ state: "active", progress: null });
    await worker.call("queue::report_progress", { ...report, note: "4 of 10 pages" });
    const job = await call("queue::get_job", { job_id });
    expect(job).toMatchObject({ progress: { value: 0.4, note: "4 of 10 pages", at: expect.any(String) } });
    expect(await call("queue::peek", { queue: "q", state: "active" })).toMatchObject({ jobs: [job] });
    await worker.call("queue::report_progress", { ...report, progress: 1 });
    expect(await call("queue::get_job", { job_id })).toMatchObject({ progress: { value: 1, note: null } });
  });

  it("starts again with each attempt, and reports of an earlier attempt are rejected", async () => {
    const { call, clock, until, worker, job_id, report } = await runningJob();
    await worker.call("queue::report_progress", report);
    held.splice(0)[0]?.(new Error("once more"));
    await until("it runs again", () => {
      clock.advance(1);
      return held.length === 1;
    });
    expect(await call("queue::get_job", { job_id })).toMatchObject({ attempts: 1, progress: null });
    expect((await worker.call("queue::report_progress", report)).error).toMatchObject({
      code: "job_not_found",
      message: `attempt 1 of job ${job_id} does not run on this worker`,
    });
    expect((await worker.call("queue::report_progress", { ...report, attempt: 2 })).error).toBeNull();
  });

  it("is reported by a restricted worker without a permission, but only for jobs that it runs", async () => {
    running = await moduleEngine({ queues: { q: {} } });
    const guest = await running.engine.connectWorker({ access: accessOfRole("guest", []) });
    const { call, engine, job_id, report } = await runningJob(guest);
    const other = await engine.connectWorker({ access: accessOfRole("other", []) });
    expect((await other.call("queue::report_progress", report)).error).toMatchObject({ code: "job_not_found" });
    expect(await call("queue::get_job", { job_id })).toMatchObject({ progress: null });
    expect((await guest.call("queue::report_progress", report)).error).toBeNull();
    expect(await call("queue::get_job", { job_id })).toMatchObject({ progress: { value: 0.4 } });
  });

  it.each([{ progress: 1.1 }, { progress: -0.1 }, { note: "x".repeat(257) }])("is not %j", async (wrong) => {
    const { worker, report } = await runningJob();
    expect((await worker.call("queue::report_progress", { ...report, ...wrong })).error).toMatchObject({
      code: "invalid_input",
    });
  });
});
