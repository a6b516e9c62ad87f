import { CallError, type Job, Payload } from "@svc-runtime/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { manualClock } from "../../testing/manual-clock.ts";
import type { QueueStore, TakeOutput } from "./store/queue-store.ts";
import { type QueueEngine, queueEngine, temporaryFolder, until } from "./testing/queue-engine.ts";

const folder = temporaryFolder();
let running: QueueEngine | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
  folder.remove();
});

const clock = manualClock();

async function start(queues: Readonly<Record<string, unknown>> = {}): Promise<QueueEngine> {
  running = await queueEngine(queues, { dataDir: folder.path, clock });
  return running;
}

async function stop(): Promise<void> {
  await running?.stop();
  running = undefined;
}

/** Resolves when all calls of the store have completed and taken effect. */
async function quiet(core: QueueEngine["core"]): Promise<void> {
  for (let n = 0; n < 5; n++) await core.counts("default");
}

describe("queues over a restart", () => {
  it("keep what waits, what is delayed, dead letters with their reasons, and pauses (gap 3) (gap 11)", async () => {
    const before = await start({ q: { max_attempts: 1 } });
    const worker = await before.engine.connectWorker();
    worker.serve("fails", () => {
      throw new Error("the reason");
    });
    const dead = await before.add("fails", 1, { queue: "q" });
    await before.until("it is dead", async () => (await before.core.counts("q")).dead === 1);
    await before.core.pause("q");
    await before.add("missing", 2, { queue: "q" });
    await before.add("missing", 3, { queue: "q", delayMs: 60_000 });
    await stop();
    const after = await start({ q: {} });
    expect(await after.core.counts("q")).toMatchObject({ waiting: 1, delayed: 1, dead: 1, paused: true });
    expect(await after.core.store.call("job", dead)).toMatchObject({ failures: [{ message: "the reason" }] });
  });

  it("give back what was in hand when the module stops, with its attempts unchanged (gap 4)", async () => {
    const before = await start();
    const worker = await before.engine.connectWorker();
    const attempts: number[] = [];
    worker.serve("work", (_, frame) => {
      attempts.push((frame.job as Job).attempt);
      return new Promise(() => {});
    });
    await before.add("work", 1);
    await before.until("it runs", () => attempts.length === 1);
    const stopped = stop();
    // A handler gets 5 s to finish.
    await before.until("the stop waits", () => before.clock.pendingTimers > 0);
    clock.advance(5_000);
    await stopped;
    const after = await start();
    expect(await after.core.counts("default")).toMatchObject({ waiting: 1, active: 0, dead: 0 });
    const next = await after.engine.connectWorker();
    next.serve("work", (_, frame) => attempts.push((frame.job as Job).attempt));
    await after.until("it is done", async () => (await after.core.counts("default")).done === 1);
    expect(attempts).toEqual([1, 1]);
  });

  it("take back at once what another run of the engine had in hand, attempts unchanged (gap 4)", async () => {
    const before = await start();
    await before.add("work", 1, { group: "g" });
    await before.add("work", 2, { group: "g" });
    // The state that a killed engine leaves.
    const taken = await before.core.store.call("take", {
      queue: "default",
      limit: 10,
      restrictedLimit: 10,
      maxBytes: 1_000,
      except: [],
      run: "another",
      take: 1,
    });
    expect(taken.jobs).toHaveLength(1);
    await stop();
    const after = await start();
    expect(await after.core.counts("default")).toMatchObject({ waiting: 2, active: 0 });
    const worker = await after.engine.connectWorker();
    const ran: unknown[] = [];
    worker.serve("work", (data, frame) => ran.push([data, (frame.job as Job).attempt]));
    await after.until("both are done", async () => (await after.core.counts("default")).done === 2);
    expect(ran).toEqual([
      [1, 1],
      [2, 1],
    ]);
  });
});

describe("queues while the clock is set", () => {
  it.each([
    ["two hours back", -7_200_000],
    ["two hours on", 7_200_000],
  ])("%s: a delay and a back-off last as long as they were to last", async (_, byMs) => {
    const { engine, core, add, until } = await start({ q: { backoff_ms: 10_000, max_attempts: 2 } });
    const worker = await engine.connectWorker();
    const ran: string[] = [];
    worker.serve("work", (data) => {
      ran.push(String(data));
      if (ran.length === 1) throw new Error("once");
    });
    await add("work", "retried", { queue: "q" });
    await until("it waits", async () => (await core.counts("q")).delayed === 1);
    await add("work", "delayed", { queue: "q", delayMs: 60_000 });
    clock.jumpTo(clock.now() + byMs);
    clock.advance(8_000);
    // Each resume checks for due jobs.
    await core.resume("q");
    await quiet(core);
    expect(ran).toEqual(["retried"]);
    clock.advance(4_000);
    await until("the retry ran", () => ran.length === 2);
    clock.advance(46_000);
    await core.resume("q");
    await quiet(core);
    expect(ran).toEqual(["retried", "retried"]);
    clock.advance(3_000);
    await until("the delayed one ran", () => ran.length === 3);
  });

  it("on: an instant that was asked for has come", async () => {
    const { engine, add, until } = await start();
    const worker = await engine.connectWorker();
    const ran: unknown[] = [];
    worker.serve("work", (data) => ran.push(data));
    await add("work", 1, { runAt: clock.now() + 3_600_000 });
    clock.jumpTo(clock.now() + 7_200_000);
    clock.advance(10_000);
    await until("it ran", () => ran.length === 1);
  });

  it("back: what is put on a queue later does not overtake what waits", async () => {
    const { engine, core, add, until } = await start({ q: { concurrency: 1 } });
    await add("work", 1, { queue: "q" });
    clock.jumpTo(clock.now() - 7_200_000);
    await add("work", 2, { queue: "q" });
    const worker = await engine.connectWorker();
    const ran: unknown[] = [];
    worker.serve("work", (data) => ran.push(data));
    await until("both ran", async () => (await core.counts("q")).done === 2);
    expect(ran).toEqual([1, 2]);
  });
});

describe("a take whose result is lost", () => {
  it.each([
    ["its jobs return to their queue and run", "unknown"],
    ["nothing is returned if the store says that it did not happen", "not_written"],
  ])("%s", async (_, outcome) => {
    const lost: string[] = [];
    const undone: unknown[] = [];
    const around = (store: QueueStore): QueueStore => ({
      ...store,
      async call(name, input, options) {
        const answer = store.call(name, input, options);
        if (name === "undoTake") undone.push(input);
        if (name !== "take" || lost.length > 0) return answer;
        const { jobs } = (await answer) as TakeOutput;
        if (jobs.length === 0) return answer;
        lost.push(...jobs.map(({ id }) => id));
        if (outcome === "not_written")
          await store.call("undoTake", input as { readonly run: string; readonly take: number });
        throw new CallError("storage_failed", "a test", { details: { outcome } });
      },
    });
    running = await queueEngine({}, { clock, around });
    const { engine, core, add, until } = running;
    const worker = await engine.connectWorker();
    const attempts: unknown[] = [];
    worker.serve("work", (_data, frame) => attempts.push((frame.job as Job).attempt));
    const id = await add("work", 1);
    await until("its take is lost", () => lost.length > 0);
    clock.advance(5_000);
    await until("it is done", async () => (await core.counts("default")).done === 1);
    expect(lost).toEqual([id]);
    expect(attempts).toEqual([1]);
    expect(undone).toHaveLength(outcome === "unknown" ? 1 : 0);
  });

  it("is undone when the store works again, without another job", async () => {
    const disk = { isBroken: false, refused: 0 };
    const around = (store: QueueStore): QueueStore => ({
      ...store,
      async call(name, input, options) {
        if (name === "take" && disk.refused === 0) {
          const answer = await store.call(name, input, options);
          disk.isBroken = (answer as TakeOutput).jobs.length > 0;
          if (!disk.isBroken) return answer;
        }
        if (!disk.isBroken || name === "countsOf") return store.call(name, input, options);
        disk.refused += 1;
        throw new CallError("storage_failed", "a test");
      },
    });
    running = await queueEngine({}, { clock, around });
    const { engine, core, add, until } = running;
    const worker = await engine.connectWorker();
    worker.serve("work", () => null);
    await add("work", 1);
    await until("the take and its undoing failed", () => disk.refused > 1);
    expect(await core.counts("default")).toMatchObject({ active: 1 });
    disk.isBroken = false;
    await until("it is done", async () => {
      clock.advance(100);
      return (await core.counts("default")).done === 1;
    });
  });
});

it("a job whose lease another run took is not completed by the run that lost it", async () => {
  running = await queueEngine({}, { clock });
  const { engine, core, add, until } = running;
  const worker = await engine.connectWorker();
  const finish: (() => void)[] = [];
  worker.serve("work", () => new Promise<void>((resolve) => finish.push(resolve)));
  await add("work", 1);
  await until("it runs", () => finish.length === 1);
  // Another run holds this one for gone, and takes the job.
  await core.store.call("recover", { members: ["other"] });
  const wanted = { queue: "default", limit: 1, restrictedLimit: 1, maxBytes: 1_000, except: [] };
  const { jobs } = await core.store.call("take", { ...wanted, run: "other", take: 1 });
  finish[0]?.();
  await until("it gives up", () => engine.logs.some(({ message }) => message.startsWith("outcome of a job discarded")));
  expect(await core.counts("default")).toMatchObject({ active: 1, done: 0 });
  const id = String(jobs[0]?.id);
  await expect(core.cancel(id)).rejects.toMatchObject({ code: "lease_lost" });
  expect(await core.store.call("job", id)).toMatchObject({ state: "active" });
});

describe("draining", () => {
  it("stops fetching at once and lets what is in hand finish; what a worker that goes meanwhile had is given back unchanged", async () => {
    const { engine, core, add, until } = await start({ q: { concurrency: 2 } });
    const worker = await engine.connectWorker();
    const settle: (() => void)[] = [];
    worker.serve("work", () => new Promise<void>((resolve) => settle.push(resolve)));
    for (let n = 0; n < 3; n++) await add("work", n, { queue: "q" });
    await until("two run", () => settle.length === 2);
    engine.startDraining();
    settle[0]?.();
    await until("one is done", async () => (await core.counts("q")).done === 1);
    expect(await core.counts("q")).toMatchObject({ active: 1, waiting: 1 });
    worker.close();
    await until("the other one is given back", async () => (await core.counts("q")).waiting === 2);
    expect(settle).toHaveLength(2);
    const waiting = await core.store.call("peek", { queue: "q", state: "waiting", limit: 10, maxBytes: 1_000 });
    expect(waiting.map(({ attempts }) => attempts)).toEqual([0, 0]);
  });
});

it.each([
  ["take", "runs a delayed job", { delayMs: 1_000 }, { done: 1 }],
  ["expire", "deletes an expired job", { expiresInMs: 1_000 }, { expired: 1 }],
])("%s: %s on time although the store answers late", async (procedure, _, options, expected) => {
  const folder = temporaryFolder();
  const before = await queueEngine({ q: {} }, { dataDir: folder.path, clock });
  await before.core.add([{ queue: "q", functionId: "work", data: Payload.fromValue(1), ...options }]);
  // A take would delete the expired job too.
  if (procedure === "expire") await before.core.pause("q");
  await before.stop();

  let release: (() => void) | undefined;
  const around = (store: QueueStore): QueueStore => {
    const call = store.call.bind(store) as QueueStore["call"];
    return Object.assign(store, {
      async call(...request: Parameters<QueueStore["call"]>) {
        const answer = await call(...request);
        const [name, input] = request;
        if (name === procedure && (input as { queue?: string } | null)?.queue !== "default" && release === undefined)
          await new Promise<void>((resolve) => {
            release = resolve;
          });
        return answer;
      },
    });
  };
  const starting = queueEngine({ q: {} }, { dataDir: folder.path, clock, around });
  await until("the store was asked", () => release !== undefined);
  clock.advance(1_000);
  release?.();
  running = await starting;
  const worker = await running.engine.connectWorker();
  worker.serve("work", () => null);
  clock.advance(1);
  const { core } = running;
  await until("it ended", async () => {
    const counts = await core.counts("q");
    return counts.done + counts.expired > 0;
  });
  expect(await core.counts("q")).toMatchObject(expected);
  await running.stop();
  running = undefined;
  folder.remove();
});
