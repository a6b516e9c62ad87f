import type { Job } from "@svc-runtime/protocol";
import { CallError, Payload } from "@svc-runtime/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { OpenStore } from "../../kernel/store-contract.ts";
import { replicaKinds } from "../../store/replicated/testing/open-on-log.ts";
import type { QueueStore } from "./store/queue-store.ts";
import { type QueueEngine, queueEngine } from "./testing/queue-engine.ts";

let running: QueueEngine | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

async function start(queues: Readonly<Record<string, unknown>> = {}): Promise<QueueEngine> {
  running = await queueEngine(queues);
  return running;
}

/** A handler whose calls the test completes. */
function heldHandler() {
  const calls: { readonly data: unknown; readonly job: Job; settle(error?: Error): void }[] = [];
  return {
    calls,
    handle: (data: unknown, frame: Record<string, unknown>) =>
      new Promise((resolve, reject) => {
        calls.push({
          data,
          job: frame.job as Job,
          settle: (error) => (error === undefined ? resolve(null) : reject(error)),
        });
      }),
  };
}

describe("a job", () => {
  it("runs at once, with its queue, id and attempt, and leaves nothing that waits when it is done (gap 10)", async () => {
    const { engine, core, add, until } = await start();
    const worker = await engine.connectWorker();
    const seen: unknown[] = [];
    worker.serve("work", (data, frame) => seen.push({ data, job: frame.job }));
    const id = await add("work", { a: 1 });
    await until("the job is done", async () => (await core.counts("default")).done === 1);
    expect(seen).toEqual([{ data: { a: 1 }, job: { queue: "default", id, attempt: 1 } }]);
    expect(await core.counts("default")).toMatchObject({
      waiting: 0,
      delayed: 0,
      active: 0,
      dead: 0,
      bytes: 0,
      added: 1,
    });
    expect(await core.store.call("job", id)).toMatchObject({ state: "done" });
  });

  it.each<[string, OpenStore | undefined]>([
    ["its own store", undefined],
    ["the log of a cluster", replicaKinds("memory")[0].open],
  ])("is added and taken by one write of %s", async (_, openStore) => {
    const calls: string[] = [];
    const around = (store: QueueStore): QueueStore => ({
      ...store,
      call(name, input, options) {
        calls.push(name);
        return store.call(name, input, options);
      },
    });
    running = await queueEngine({}, { around, openStore });
    const { engine, core, add, until } = running;
    const worker = await engine.connectWorker();
    worker.serve("work", () => null);
    await until("it is there", () => engine.directory.functionById("work") !== undefined);
    calls.length = 0;
    const added = add("work", 1);
    expect(calls).toEqual(["addAndTake"]);
    await added;
    await until("the job is done", async () => (await core.counts("default")).done === 1);
    expect(calls).not.toContain("take");
  });

  it("is not taken by an engine of a cluster that has no worker for it", async () => {
    const calls: string[] = [];
    const around = (store: QueueStore): QueueStore => ({
      ...store,
      call(name, input, options) {
        calls.push(name);
        return store.call(name, input, options);
      },
    });
    running = await queueEngine({}, { around, openStore: replicaKinds("memory")[0].open });
    calls.length = 0;
    const added = running.add("work", 1);
    expect(calls).toEqual(["add"]);
    await added;
  });

  it("is tried again after its back-off, and is a dead letter with the real error, stack, worker and trace of each attempt (gap 6) (gap 8)", async () => {
    const { engine, core, clock, add, until } = await start({ q: { max_retries: 3, backoff_ms: 1_000 } });
    const worker = await engine.connectWorker({ name: "mailer" });
    let tries = 0;
    worker.serve("work", () => {
      tries += 1;
      throw new Error(`no ${tries}`);
    });
    const id = await add("work", 1, { queue: "q" });
    await until("it waits", async () => (await core.counts("q")).delayed === 1);
    clock.advance(899);
    expect(tries).toBe(1);
    clock.advance(201);
    await until("it waits again", async () => tries === 2 && (await core.counts("q")).delayed === 1);
    clock.advance(2_200);
    await until("it is dead", async () => (await core.counts("q")).dead === 1);
    const letter = await core.store.call("job", id);
    const failure = {
      code: "invocation_failed",
      worker: expect.stringMatching(/^mailer \(.+\)$/),
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    };
    expect(letter).toMatchObject({
      state: "dead",
      attempts: 3,
      failures: [1, 2, 3].map((attempt) => ({ ...failure, attempt, message: `no ${attempt}` })),
    });
  });

  it("is retried at once when its worker goes with it in its hands, and that uses an attempt (Q-3) (Q-4)", async () => {
    const { engine, core, add, until } = await start();
    const first = await engine.connectWorker();
    const held = heldHandler();
    first.serve("work", held.handle);
    await add("work", 1);
    await until("it runs", () => held.calls.length === 1);
    const second = await engine.connectWorker();
    const again = heldHandler();
    second.serve("work", again.handle);
    await until("both provide it", () => engine.directory.functionById("work")?.workers.length === 2);
    first.close();
    await until("the other one has it", () => again.calls.length === 1);
    expect(again.calls[0]?.job.attempt).toBe(2);
    again.calls[0]?.settle();
    await until("it is done", async () => (await core.counts("default")).done === 1);
  });

  it("waits for a function that nobody provides, as long as it takes, and runs as soon as it is there (gap 7) (Q-4)", async () => {
    const { engine, core, clock, add, until } = await start();
    await add("late", 1);
    await add("late", 2);
    await until("they wait", async () => (await core.counts("default")).waiting === 2);
    clock.advance(3_600_000);
    await until("they still wait", async () => (await core.counts("default")).waiting === 2);
    const worker = await engine.connectWorker();
    const attempts: unknown[] = [];
    worker.serve("late", (_, frame) => attempts.push((frame.job as Job).attempt));
    await until("they ran", async () => (await core.counts("default")).done === 2);
    expect(attempts).toEqual([1, 1]);
  });

  it("does not wait behind those whose function is missing", async () => {
    const { engine, core, add, until } = await start({ q: { concurrency: 1 } });
    await add("missing", 1, { queue: "q" });
    const worker = await engine.connectWorker();
    worker.serve("there", () => null);
    await add("there", 2, { queue: "q" });
    await until("the other one ran", async () => (await core.counts("q")).done === 1);
    expect(await core.counts("q")).toMatchObject({ waiting: 1, active: 0 });
  });

  it("fails when its handler never answers, and is tried again", async () => {
    const { engine, core, clock, add, until } = await start({
      q: { timeout_ms: 60_000, max_attempts: 2, backoff_ms: 0 },
    });
    const worker = await engine.connectWorker();
    const held = heldHandler();
    worker.serve("work", held.handle);
    const id = await add("work", 1, { queue: "q" });
    await until("it runs", () => held.calls.length === 1);
    clock.advance(60_100);
    await until("it runs again", () => held.calls.length === 2);
    clock.advance(60_100);
    await until("it is dead", async () => (await core.counts("q")).dead === 1);
    expect(await core.store.call("job", id)).toMatchObject({
      failures: [{ code: "call_timeout" }, { code: "call_timeout" }],
    });
  });
});

describe("a queue", () => {
  it("runs as many jobs at a time as its concurrency, and prefetches none", async () => {
    const { engine, core, add, until } = await start({ q: { concurrency: 2 } });
    const worker = await engine.connectWorker();
    const held = heldHandler();
    worker.serve("work", held.handle);
    for (let n = 0; n < 5; n++) await add("work", n, { queue: "q" });
    await until("two run", () => held.calls.length === 2);
    expect(await core.counts("q")).toMatchObject({ active: 2, waiting: 3 });
    held.calls[0]?.settle();
    await until("the next one runs", () => held.calls.length === 3);
    expect(await core.counts("q")).toMatchObject({ active: 2, waiting: 2, done: 1 });
    for (let n = 1; n < 5; n++) {
      await until("it runs", () => held.calls.length > n);
      held.calls[n]?.settle();
    }
    await until("all are done", async () => (await core.counts("q")).done === 5);
    expect(held.calls.map(({ data }) => data)).toEqual([0, 1, 2, 3, 4]);
  });

  it("runs no job beyond its concurrency that is added while others are taken", async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const calls: string[] = [];
    const around = (store: QueueStore): QueueStore => ({
      ...store,
      async call(name, input, options) {
        calls.push(name);
        if (name !== "take" || !calls.includes("done")) return store.call(name, input, options);
        await released;
        const output = await store.call(name, input, options);
        calls.push("taken");
        return output;
      },
    });
    running = await queueEngine({ q: { concurrency: 1 } }, { around });
    const { engine, core, add, until } = running;
    const worker = await engine.connectWorker();
    const held = heldHandler();
    worker.serve("work", held.handle);
    await until("it is there", () => engine.directory.functionById("work") !== undefined);
    await add("work", 1, { queue: "q" });
    await until("the first one runs", () => held.calls.length === 1);
    await add("work", 2, { queue: "q" });
    held.calls[0]?.settle();
    await until(
      "the next one is being taken",
      () => calls.slice(calls.indexOf("done")).includes("take") && calls.includes("done"),
    );
    await add("work", 3, { queue: "q" });
    release();
    await until("the next one was taken", () => calls.includes("taken"));
    await until("the second one runs", () => held.calls.length >= 2);
    expect(await core.counts("q")).toMatchObject({ active: 1, waiting: 1 });
    for (const n of [1, 2]) {
      await until("it runs", () => held.calls.length > n);
      held.calls[n]?.settle();
    }
    await until("all are done", async () => (await core.counts("q")).done === 3);
    expect(held.calls.map(({ data }) => data)).toEqual([1, 2, 3]);
  });

  it("keeps the order inside a group over a retry, while other groups go on (gap 5) (Q-6)", async () => {
    const { engine, core, clock, add, until } = await start({ q: { backoff_ms: 1_000 } });
    const worker = await engine.connectWorker();
    const ran: string[] = [];
    let failures = 0;
    worker.serve("work", (data) => {
      const name = String(data);
      ran.push(name);
      if (name === "a1" && failures++ === 0) throw new Error("once");
    });
    for (const name of ["a1", "a2", "b1", "b2", "a3"]) await add("work", name, { queue: "q", group: name.slice(0, 1) });
    await until("the other group is done", async () => (await core.counts("q")).done === 2);
    expect(ran).toEqual(["a1", "b1", "b2"]);
    clock.advance(1_100);
    await until("all are done", async () => (await core.counts("q")).done === 5);
    expect(ran.filter((name) => name.startsWith("a"))).toEqual(["a1", "a1", "a2", "a3"]);
  });

  it("runs one job of a group at a time", async () => {
    const { engine, add, until } = await start({ q: { concurrency: 10 } });
    const worker = await engine.connectWorker();
    const held = heldHandler();
    worker.serve("work", held.handle);
    for (const name of ["a1", "a2", "b1"]) await add("work", name, { queue: "q", group: name.slice(0, 1) });
    await until("one of each group runs", () => held.calls.length === 2);
    expect(held.calls.map(({ data }) => data)).toEqual(["a1", "b1"]);
    held.calls[0]?.settle();
    await until("the next of the group runs", () => held.calls.length === 3);
    for (const call of held.calls.slice(1)) call.settle();
  });

  it("takes higher priorities first, those of one priority in order (gap 9)", async () => {
    const { engine, core, add, until } = await start({ q: { concurrency: 1, priority_field: "p" } });
    await core.pause("q");
    const worker = await engine.connectWorker();
    const ran: unknown[] = [];
    worker.serve("work", (data) => ran.push((data as { n: number }).n));
    await add("work", { n: 1 }, { queue: "q" });
    await add("work", { n: 2, p: 5 }, { queue: "q" });
    await add("work", { n: 3 }, { queue: "q", priority: 9 });
    await add("work", { n: 4, p: 5 }, { queue: "q" });
    await core.resume("q");
    await until("all are done", async () => (await core.counts("q")).done === 4);
    expect(ran).toEqual([3, 2, 4, 1]);
  });

  it("runs a delayed job when it is due and not before, and without looking for it meanwhile (gap 9)", async () => {
    const { engine, core, clock, add, until } = await start();
    const worker = await engine.connectWorker();
    const ran: unknown[] = [];
    worker.serve("work", (data) => ran.push(data));
    await add("work", "soon", { delayMs: 5_000 });
    await add("work", "at", { runAt: clock.now() + 7_000 });
    await add("work", "now");
    await until("the first one ran", () => ran.length === 1);
    clock.advance(4_999);
    expect(await core.counts("default")).toMatchObject({ delayed: 2 });
    clock.advance(1);
    await until("the second one ran", () => ran.length === 2);
    clock.advance(2_000);
    await until("the third one ran", () => ran.length === 3);
    expect(ran).toEqual(["now", "soon", "at"]);
  });

  it("stores what has one dedupe key once within its window (gap 9) (Q-7)", async () => {
    const { core, clock, add } = await start();
    const first = await add("later", 1, { dedupeKey: "k" });
    const again = await core.add([
      { queue: "default", functionId: "later", data: Payload.fromValue(2), dedupeKey: "k" },
    ]);
    expect(again).toEqual([{ id: first, duplicate: true }]);
    clock.advance(10 * 60_000);
    expect(await add("later", 3, { dedupeKey: "k" })).not.toBe(first);
    expect(await core.counts("default")).toMatchObject({ waiting: 2 });
  });

  it("remembers a dedupe key after its job is done, also if the job is not kept", async () => {
    const { engine, core, add, until } = await start({ default: { keep_completed: { count: 0 } } });
    const worker = await engine.connectWorker();
    worker.serve("work", () => null);
    const id = await add("work", 1, { dedupeKey: "k" });
    await until("it is done", async () => (await core.counts("default")).done === 1);
    expect(await add("work", 1, { dedupeKey: "k" })).toBe(id);
    expect(await core.store.call("job", id)).toEqual({ queue: "default", ended: "done" });
  });

  it("keeps a done job and its result when the job is added again with its id and its dedupe key", async () => {
    const { engine, core, until } = await start();
    const worker = await engine.connectWorker();
    worker.serve("work", () => ({ total: 3 }));
    const job = { id: "j", queue: "default", functionId: "work", data: Payload.null, dedupeKey: "k" };
    await core.add([job]);
    await until("it is done", async () => (await core.counts("default")).done === 1);
    expect(await core.add([job])).toEqual([{ id: "j", duplicate: true }]);
    expect(await core.store.call("job", "j")).toMatchObject({ state: "done", outcome: { result: '{"total":3}' } });
    expect(await core.counts("default")).toMatchObject({ kept: 1 });
  });

  it("drops a job that was not begun in its time to live", async () => {
    const { core, clock, add, until } = await start();
    const id = await add("missing", 1, { expiresInMs: 1_000, dedupeKey: "k" });
    clock.advance(1_000);
    await until("it is dropped", async () => (await core.counts("default")).expired === 1);
    expect(await core.store.call("job", id)).toEqual({ queue: "default", ended: "expired" });
    expect(await core.counts("default")).toMatchObject({ waiting: 0, bytes: 0 });
  });

  it("does not drop a job that was begun in its time and waits to be tried again: it ends done or dead (Q-2)", async () => {
    const { engine, core, clock, until } = await start({ q: { max_attempts: 2, backoff_ms: 10_000 } });
    const worker = await engine.connectWorker();
    worker.serve("work", () => {
      throw new Error("no");
    });
    await core.add([{ queue: "q", functionId: "work", data: Payload.fromValue(1), expiresInMs: 1_000 }]);
    await until("it waits to be tried again", async () => (await core.counts("q")).delayed === 1);
    clock.advance(2_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await core.counts("q")).toMatchObject({ delayed: 1, expired: 0 });
    clock.advance(10_000);
    await until(
      "it is over",
      async () => (await core.counts("q")).delayed === 0 && (await core.counts("q")).active === 0,
    );
    expect(await core.counts("q")).toMatchObject({ dead: 1, expired: 0 });
  });

  it("cancels a job that waits, and one that runs, and says when there is none", async () => {
    const { engine, core, add, until } = await start();
    const waiting = await add("missing", 1);
    await core.cancel(waiting);
    await expect(core.cancel(waiting)).rejects.toMatchObject({ code: "job_not_found" });
    const worker = await engine.connectWorker();
    const held = heldHandler();
    worker.serve("work", held.handle);
    const runs = await add("work", 1);
    await until("it runs", () => held.calls.length === 1);
    await core.cancel(runs);
    expect(await core.counts("default")).toMatchObject({ active: 0, waiting: 0, cancelled: 2, done: 0 });
  });

  it("stands still while it is paused, and goes on when it is resumed (gap 11)", async () => {
    const { engine, core, add, until } = await start();
    const worker = await engine.connectWorker();
    worker.serve("work", () => null);
    await core.pause("default");
    await add("work", 1);
    expect(await core.counts("default")).toMatchObject({ waiting: 1, paused: true });
    await core.resume("default");
    await until("it is done", async () => (await core.counts("default")).done === 1);
  });

  it("is purged of what waits and is delayed, not of what runs (gap 11)", async () => {
    const { engine, core, add, until } = await start({ q: { concurrency: 1 } });
    const worker = await engine.connectWorker();
    const held = heldHandler();
    worker.serve("work", held.handle);
    await add("work", 0, { queue: "q", group: "g" });
    await until("it runs", () => held.calls.length === 1);
    for (let n = 1; n < 4; n++) await add("work", n, { queue: "q", group: "g" });
    await add("work", 9, { queue: "q", delayMs: 1_000 });
    expect(await core.purge("q")).toBe(4);
    expect(await core.counts("q")).toMatchObject({ waiting: 0, delayed: 0, active: 1, cancelled: 4 });
    held.calls[0]?.settle();
    await until("it is done", async () => (await core.counts("q")).done === 1);
  });

  it.each([
    [
      "jobs",
      { max_depth: 2 },
      "queue q holds 2 jobs, and its limit is 2 (max_depth): wait until some have run, or raise the limit",
    ],
    [
      "bytes",
      { max_bytes: 8 },
      "queue q holds 6 bytes of data; 3 more exceed its limit of 8 (max_bytes): wait until some jobs have run, or raise the limit",
    ],
  ])("refuses more %s than it may hold, and keeps what it has (gap 12) (Q-8)", async (_, limits, message) => {
    const { core, add } = await start({ q: limits });
    await add("missing", 100, { queue: "q" });
    await add("missing", 200, { queue: "q" });
    await expect(add("missing", 300, { queue: "q" })).rejects.toMatchObject({ code: "queue_full", message });
    expect(await core.counts("q")).toMatchObject({ waiting: 2, bytes: 6 });
  });

  it("takes no more jobs while it has as many dead letters as it may have (gap 12)", async () => {
    const { engine, core, add, until } = await start({ q: { max_dead: 1, max_attempts: 1 } });
    const worker = await engine.connectWorker();
    worker.serve("work", () => {
      throw new Error("no");
    });
    const id = await add("work", 1, { queue: "q" });
    await until("it is dead", async () => (await core.counts("q")).dead === 1);
    await expect(add("work", 2, { queue: "q" })).rejects.toMatchObject({ code: "queue_full" });
    expect(await core.discard("q", [id])).toBe(1);
    await add("work", 2, { queue: "q" });
  });

  it("refuses a job that is too large, one that is not JSON, and a queue that nobody declared", async () => {
    const { core, add } = await start({ q: { max_job_bytes: 10 } });
    await expect(add("f", "12345678901", { queue: "q" })).rejects.toMatchObject({ code: "payload_too_large" });
    const notJson = { queue: "q", functionId: "f", data: Payload.fromText("{nope") };
    await expect(core.add([notJson])).rejects.toMatchObject({ code: "invalid_message" });
    await expect(add("f", 1, { queue: "other" })).rejects.toMatchObject({
      code: "queue_not_found",
      message: "Queue 'other' not found",
    });
  });
});

describe("dead letters", () => {
  async function withLetters(count: number) {
    const queue = await start({ q: { max_attempts: 1 } });
    const worker = await queue.engine.connectWorker();
    const seen: unknown[] = [];
    const state = { fails: true };
    worker.serve("work", (data) => {
      if (state.fails) throw new Error(`no ${String(data)}`);
      seen.push(data);
    });
    const ids: string[] = [];
    for (let n = 0; n < count; n++) ids.push(await queue.add("work", n, { queue: "q" }));
    await queue.until("they are dead", async () => (await queue.core.counts("q")).dead === count);
    state.fails = false;
    return { ...queue, ids, seen };
  }

  it("are redriven one, some or all, with all attempts before them and their history kept", async () => {
    const { core, ids, seen, until } = await withLetters(3);
    await core.pause("q");
    expect(await core.redrive("q", { ids: ids.slice(1, 2) })).toBe(1);
    expect(await core.store.call("job", ids[1] ?? "")).toMatchObject({
      state: "waiting",
      attempts: 0,
      failures: [{ message: "no 1" }],
    });
    await core.resume("q");
    await until("it ran", () => seen.length === 1);
    expect(await core.redrive("q")).toBe(2);
    await until("all ran", async () => (await core.counts("q")).done === 3);
    expect(seen).toEqual([1, 0, 2]);
  });

  it("are redriven with an edited payload", async () => {
    const { core, ids, seen, until } = await withLetters(1);
    expect(await core.redrive("q", { ids, data: Payload.fromValue({ fixed: true }) })).toBe(1);
    await until("it ran", async () => (await core.counts("q")).done === 1);
    expect(seen).toEqual([{ fixed: true }]);
    expect(await core.counts("q")).toMatchObject({ dead: 0, bytes: 0 });
  });

  it("are not touched when one of the ids is unknown: an error, not a count", async () => {
    const { core, ids } = await withLetters(2);
    const error = await core.redrive("q", { ids: [ids[0] ?? "", "nobody"] }).catch((thrown: unknown) => thrown);
    expect(CallError.is(error) && error.code).toBe("job_not_found");
    await expect(core.discard("q", ["nobody"])).rejects.toMatchObject({ code: "job_not_found" });
    expect(await core.counts("q")).toMatchObject({ dead: 2 });
    expect(await core.discard("q")).toBe(2);
    expect(await core.counts("q")).toMatchObject({ dead: 0, bytes: 0 });
  });

  it("are listed the latest first, page by page", async () => {
    const { core, ids } = await withLetters(3);
    const first = await core.store.call("peek", { queue: "q", state: "dead", limit: 2, maxBytes: 1_000_000 });
    expect(first.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    const last = first[1];
    const after = { seq: last?.seq ?? 0, at: last?.failedAt ?? 0 };
    const second = await core.store.call("peek", { queue: "q", state: "dead", after, limit: 2, maxBytes: 1_000_000 });
    expect(second.map(({ id }) => id)).toEqual([ids[0]]);
  });
});
