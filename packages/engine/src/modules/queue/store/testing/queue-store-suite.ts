import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FailedAttempt, NewJob } from "../job.ts";
import type { QueueStore, TakeInput } from "../queue-store.ts";

const limits = { maxDepth: 10, maxBytes: 1_000, maxDead: 10 };
const KEEP = { count: 10, ageMs: 60_000 };
/** Two runs of the engine that use one store. */
const [A, B] = ["run a", "run b"];

/** Guarantees of the queue's procedures, on every kind of store. `open` returns an empty store. */
export function queueStoreSuite(name: string, open: () => Promise<QueueStore>): void {
  describe(`jobs in ${name}`, () => {
    let store: QueueStore;
    let takes = 0;
    let now = 1_000;
    beforeEach(async () => {
      store = await open();
      now = 1_000;
    });
    afterEach(() => store.close());

    function add(id: string, more: Partial<NewJob> = {}) {
      const job = {
        id,
        queue: "q",
        functionId: "f",
        data: "1",
        bytes: 1,
        priority: 0,
        dedupeWindowMs: 100,
        maxAttempts: 3,
      };
      return store.call("add", { jobs: [{ ...job, limits, ...more }], now });
    }
    async function take(run = A, more: Partial<TakeInput> = {}) {
      takes += 1;
      const wanted = { queue: "q", limit: 10, restrictedLimit: 10, maxBytes: 1_000, except: [] };
      return store.call("take", { ...wanted, now, run, take: takes, ...more });
    }
    const idsOf = async (taken: ReturnType<typeof take>) => (await taken).jobs.map(({ id }) => id);
    /** Takes one job and returns its number. */
    async function takeOne(run = A): Promise<number> {
      const [job] = (await take(run, { limit: 1 })).jobs;
      if (job === undefined) throw new Error("there is no job to take");
      return job.seq;
    }
    const done = (seq: number, run = A) =>
      store.call("done", { seq, run, keep: KEEP, result: "3", endedAt: now, durationMs: 1 });
    const failure = (attempt: number): FailedAttempt => ({
      ...{ attempt, at: now, code: "no", message: "a test", stack: undefined, worker: undefined, traceId: undefined },
    });
    const retry = (seq: number, delayMs: number, run = A) =>
      store.call("retry", { seq, run, failure: failure(1), runAt: now + delayMs });
    const deadLetter = (seq: number, run = A) => store.call("deadLetter", { seq, run, failure: failure(1) });
    const counts = () => store.call("countsOf", "q");
    const stateOf = async (id: string) => {
      const job = await store.call("job", id);
      return job === undefined || !("state" in job) ? job : job.state;
    };

    describe("of one run", () => {
      it("are taken once, in the order of acceptance, and kept with their result when they are done", async () => {
        for (const id of ["a", "b", "c"]) await add(id);
        expect(await idsOf(take(A, { limit: 2 }))).toEqual(["a", "b"]);
        expect(await idsOf(take())).toEqual(["c"]);
        expect(await idsOf(take())).toEqual([]);
        const job = await store.call("job", "a");
        expect(await done((job as { readonly seq: number }).seq)).toEqual({ queue: "q", unblocked: false });
        expect(await store.call("job", "a")).toMatchObject({ state: "done", outcome: { result: "3" } });
        expect(await counts()).toMatchObject({ waiting: 0, active: 2, done: 1, kept: 1, bytes: 2 });
      });

      it("are taken by priority, then in order", async () => {
        await add("a");
        await add("b", { priority: 5 });
        await add("c", { priority: 5 });
        expect(await idsOf(take())).toEqual(["b", "c", "a"]);
      });

      it("are added all or none", async () => {
        const job = {
          queue: "q",
          functionId: "f",
          data: "1",
          bytes: 1,
          priority: 0,
          dedupeWindowMs: 0,
          maxAttempts: 1,
        };
        const jobs = ["a", "b"].map((id) => ({ ...job, id, limits: { ...limits, maxDepth: 1 } }));
        await expect(store.call("add", { jobs, now })).rejects.toMatchObject({ code: "queue_full" });
        expect(await counts()).toBeUndefined();
      });

      it("are not added again while their dedupe key is remembered", async () => {
        await add("a", { dedupeKey: "k" });
        expect(await add("b", { dedupeKey: "k" })).toEqual([{ id: "a", duplicate: true }]);
        now += 101;
        expect(await add("c", { dedupeKey: "k" })).toEqual([{ id: "c", duplicate: false }]);
      });

      it("of a group run one at a time, in order, also over a retry", async () => {
        for (const id of ["a", "b"]) await add(id, { group: "g" });
        await add("c", { group: "other" });
        expect(await idsOf(take())).toEqual(["a", "c"]);
        const seq = Number(((await store.call("job", "a")) as { readonly seq: number }).seq);
        await retry(seq, 50);
        expect(await idsOf(take())).toEqual([]);
        now += 50;
        expect(await idsOf(take())).toEqual(["a"]);
        expect(await done(seq)).toEqual({ queue: "q", unblocked: true });
        expect(await idsOf(take())).toEqual(["b"]);
      });

      it("that are released keep their place and their attempts", async () => {
        for (const id of ["a", "b"]) await add(id);
        await store.call("release", { seq: await takeOne(), run: A });
        const { jobs } = await take();
        expect(jobs.map(({ id, attempts }) => [id, attempts])).toEqual([
          ["a", 0],
          ["b", 0],
        ]);
      });

      it("return from the dead letters to the end of their queue, or are discarded", async () => {
        await add("a");
        await deadLetter(await takeOne());
        await add("b");
        expect(await stateOf("a")).toBe("dead");
        expect(await store.call("redrive", { queue: "q", ids: ["a"], limits, limit: 1, now })).toBe(1);
        expect(await idsOf(take())).toEqual(["b", "a"]);
        const job = await store.call("job", "a");
        expect(job).toMatchObject({ failures: [{ message: "a test" }] });
        await deadLetter((job as { readonly seq: number }).seq);
        expect(await store.call("discard", { queue: "q", ids: ["a"], limit: 1 })).toBe(1);
        expect(await store.call("job", "a")).toBeUndefined();
        await expect(store.call("discard", { queue: "q", ids: ["a"], limit: 1 })).rejects.toMatchObject({
          code: "job_not_found",
        });
      });

      it("are cancelled and purged unless they run, and stay while their queue is paused", async () => {
        for (const id of ["a", "b", "c", "d"]) await add(id);
        await takeOne();
        await store.call("setPaused", { queue: "q", paused: true });
        expect(await idsOf(take())).toEqual([]);
        expect(await store.call("cancel", { id: "b" })).toMatchObject({ state: "waiting" });
        expect(await store.call("cancel", { id: "a" })).toMatchObject({ state: "active" });
        expect(await store.call("purge", { queue: "q", limit: 10 })).toBe(2);
        expect(await counts()).toMatchObject({ active: 1, waiting: 0, cancelled: 3, paused: true });
      });
    });

    describe("of two runs", () => {
      it("are not handed out again by a run that starts while the other has them", async () => {
        await add("a");
        await takeOne(A);
        expect(await store.call("recover", { members: [A, B], now, maxDelayMs: 1_000 })).toBe(0);
        expect(await idsOf(take(B))).toEqual([]);
        expect(await stateOf("a")).toBe("active");
      });

      it("return to their queue when their run is gone, and only those", async () => {
        for (const id of ["a", "b"]) await add(id);
        const [first] = [await takeOne(A), await takeOne(B)];
        expect(await store.call("recover", { members: [B], now, maxDelayMs: 1_000 })).toBe(1);
        expect((await take(B)).jobs).toMatchObject([{ id: "a", seq: first, attempts: 0 }]);
        expect(await counts()).toMatchObject({ active: 2, waiting: 0 });
      });

      it.each([
        ["done", (seq: number) => done(seq, A)],
        ["retry", (seq: number) => retry(seq, 10, A)],
        ["release", (seq: number) => store.call("release", { seq, run: A })],
        ["deadLetter", (seq: number) => deadLetter(seq, A)],
        ["drop", (seq: number) => store.call("drop", { seq, run: A })],
      ] as const)("are not changed by a late %s of the run that had them before", async (_, late) => {
        await add("a", { group: "g" });
        await add("b", { group: "g" });
        const seq = await takeOne(A);
        await store.call("recover", { members: [B], now, maxDelayMs: 1_000 });
        await expect(late(seq)).rejects.toMatchObject({ code: "lease_lost" });
        expect(await takeOne(B)).toBe(seq);
        const before = [await counts(), await store.call("job", "a")];
        await expect(late(seq)).rejects.toMatchObject({ code: "lease_lost" });
        expect([await counts(), await store.call("job", "a")]).toEqual(before);
        expect(await done(seq, B)).toEqual({ queue: "q", unblocked: true });
        await expect(late(seq)).rejects.toMatchObject({ code: "lease_lost" });
        expect(await stateOf("a")).toBe("done");
      });

      it("are completed once: a second completion is refused", async () => {
        await add("a");
        const seq = await takeOne();
        await done(seq);
        await expect(done(seq)).rejects.toMatchObject({ code: "lease_lost" });
        expect(await counts()).toMatchObject({ done: 1, active: 0 });
      });

      it("return to their queue if the result of their take was lost: those of that take, and of no other", async () => {
        await add("a");
        await takeOne();
        for (const id of ["b", "c"]) await add(id);
        await take(B, { limit: 1, take: 1_001 });
        await take(A, { limit: 1, take: 1_001 });
        expect(await store.call("undoTake", { run: A, take: 1_001 })).toBe(1);
        expect(await store.call("undoTake", { run: A, take: 1_001 })).toBe(0);
        expect([await stateOf("a"), await stateOf("b"), await stateOf("c")]).toEqual(["active", "active", "waiting"]);
      });
    });

    describe("and time", () => {
      it("run when they are due, and not before", async () => {
        await add("a", { runAt: now + 50 });
        expect(await take()).toMatchObject({ jobs: [], nextDue: now + 50 });
        now += 49;
        expect(await idsOf(take())).toEqual([]);
        now += 1;
        expect(await take()).toMatchObject({ jobs: [{ id: "a" }], nextDue: undefined });
      });

      it("are deleted when they expire before they start", async () => {
        await add("a", { expiresAt: now + 50, dedupeKey: "k" });
        await add("b", { expiresAt: now + 60 });
        expect(await store.call("expire", { now })).toEqual({ expired: 0, next: now + 50 });
        now += 50;
        expect(await store.call("expire", { now })).toEqual({ expired: 1, next: now + 10 });
        now += 10;
        expect(await idsOf(take())).toEqual([]);
        expect(await stateOf("a")).toEqual({ queue: "q", ended: "expired" });
        expect(await counts()).toMatchObject({ expired: 2, waiting: 0 });
      });

      it("are deleted when they are done and were kept long enough", async () => {
        await add("a");
        await done(await takeOne());
        now += KEEP.ageMs - 1;
        expect(await store.call("dropDone", { now, limit: 10 })).toBe(0);
        now += 1;
        expect(await store.call("dropDone", { now, limit: 10 })).toBe(1);
        expect(await counts()).toMatchObject({ kept: 0, done: 1 });
      });
    });

    it("accepts nothing after it was closed", async () => {
      const closing = store.close();
      await expect(add("a")).rejects.toMatchObject({ code: "draining" });
      await closing;
    });
  });
}
