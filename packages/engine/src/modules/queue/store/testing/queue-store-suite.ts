import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ManualClock, manualClock } from "../../../../testing/manual-clock.ts";
import type { FailedAttempt, NewJob } from "../job.ts";
import type { QueueStore, TakeInput } from "../queue-store.ts";

const limits = { maxDepth: 10, maxBytes: 1_000, maxDead: 10 };
const KEEP = { count: 10, ageMs: 60_000 };
/** Two runs of the engine that use one store. */
const [A, B] = ["run a", "run b"];

/** Guarantees of the queue's procedures, on every kind of store. `open` returns an empty store that uses the clock. */
export function queueStoreSuite(name: string, open: (clock: ManualClock) => Promise<QueueStore>): void {
  describe(`jobs in ${name}`, () => {
    let store: QueueStore;
    let takes = 0;
    let clock: ManualClock;
    beforeEach(async () => {
      clock = manualClock();
      store = await open(clock);
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
      return store.call("add", { jobs: [{ ...job, limits, ...more }] });
    }
    async function take(run = A, more: Partial<TakeInput> = {}) {
      takes += 1;
      const wanted = { queue: "q", limit: 10, restrictedLimit: 10, maxBytes: 1_000, except: [] };
      return store.call("take", { ...wanted, run, take: takes, ...more });
    }
    const idsOf = async (taken: ReturnType<typeof take>) => (await taken).jobs.map(({ id }) => id);
    /** Takes one job and returns its number. */
    async function takeOne(run = A): Promise<number> {
      const [job] = (await take(run, { limit: 1 })).jobs;
      if (job === undefined) throw new Error("there is no job to take");
      return job.seq;
    }
    const done = (seq: number, run = A) =>
      store.call("done", { seq, run, keep: KEEP, result: "3", endedAt: clock.now(), durationMs: 1 });
    const failure = (attempt: number): FailedAttempt => ({
      ...{
        attempt,
        at: clock.now(),
        code: "no",
        message: "a test",
        stack: undefined,
        worker: undefined,
        traceId: undefined,
      },
    });
    const retry = (seq: number, delayMs: number, run = A) =>
      store.call("retry", { seq, run, failure: failure(1), delayMs });
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
        await expect(store.call("add", { jobs })).rejects.toMatchObject({ code: "queue_full" });
        expect(await counts()).toBeUndefined();
      });

      it("are not added again while their dedupe key is remembered", async () => {
        await add("a", { dedupeKey: "k" });
        expect(await add("b", { dedupeKey: "k" })).toEqual([{ id: "a", duplicate: true }]);
        clock.advance(101);
        expect(await add("c", { dedupeKey: "k" })).toEqual([{ id: "c", duplicate: false }]);
      });

      it("of a group run one at a time, in order, also over a retry", async () => {
        for (const id of ["a", "b"]) await add(id, { group: "g" });
        await add("c", { group: "other" });
        expect(await idsOf(take())).toEqual(["a", "c"]);
        const seq = Number(((await store.call("job", "a")) as { readonly seq: number }).seq);
        await retry(seq, 50);
        expect(await idsOf(take())).toEqual([]);
        clock.advance(50);
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
        expect(await store.call("redrive", { queue: "q", ids: ["a"], limits, limit: 1 })).toBe(1);
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
        expect(await store.call("recover", { members: [A, B] })).toBe(0);
        expect(await idsOf(take(B))).toEqual([]);
        expect(await stateOf("a")).toBe("active");
      });

      it("return to their queue when their run is gone, and only those", async () => {
        for (const id of ["a", "b"]) await add(id);
        const [first] = [await takeOne(A), await takeOne(B)];
        expect(await store.call("recover", { members: [B] })).toBe(1);
        expect((await take(B)).jobs).toMatchObject([{ id: "a", seq: first, attempts: 0 }]);
        expect(await counts()).toMatchObject({ active: 2, waiting: 0 });
      });

      it("return to their queue when runs are named that are gone, and only those", async () => {
        for (const id of ["a", "b"]) await add(id);
        const [first] = [await takeOne(A), await takeOne(B)];
        expect(await store.call("releaseRuns", { runs: ["other"] })).toBe(0);
        expect(await store.call("releaseRuns", { runs: [A, "other"] })).toBe(1);
        expect((await take(B)).jobs).toMatchObject([{ id: "a", seq: first, attempts: 0 }]);
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
        await store.call("recover", { members: [B] });
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
        await add("a", { delayMs: 50 });
        expect(await take()).toMatchObject({ jobs: [], nextDueMs: 50 });
        clock.advance(49);
        expect(await idsOf(take())).toEqual([]);
        clock.advance(1);
        expect(await take()).toMatchObject({ jobs: [{ id: "a" }], nextDueMs: undefined });
      });

      it("are deleted when they expire before they start", async () => {
        await add("a", { expiresInMs: 50, dedupeKey: "k" });
        await add("b", { expiresInMs: 60 });
        expect(await store.call("expire", null)).toEqual({ expired: 0, nextMs: 50 });
        clock.advance(50);
        expect(await store.call("expire", null)).toEqual({ expired: 1, nextMs: 10 });
        clock.advance(10);
        expect(await idsOf(take())).toEqual([]);
        expect(await stateOf("a")).toEqual({ queue: "q", ended: "expired" });
        expect(await counts()).toMatchObject({ expired: 2, waiting: 0 });
      });

      it("are deleted when they are done and were kept long enough", async () => {
        await add("a");
        await done(await takeOne());
        clock.advance(KEEP.ageMs - 1);
        expect(await store.call("dropDone", { limit: 10 })).toBe(0);
        clock.advance(1);
        expect(await store.call("dropDone", { limit: 10 })).toBe(1);
        expect(await counts()).toMatchObject({ kept: 0, done: 1 });
      });
    });

    describe("and a wall clock that is set", () => {
      const YEAR = 365 * 24 * 3_600_000;

      it.each([
        ["back by two hours", -7_200_000],
        ["forward by two hours", 7_200_000],
        ["back by a year", -YEAR],
        ["forward by a year", YEAR],
      ])("%s wait as long as they were to wait, and expire when they were to expire", async (_, byMs) => {
        await add("delayed", { delayMs: 60_000 });
        await add("expires", { expiresInMs: 30_000 });
        await add("retried");
        await take(A, { only: ["f"], limit: 2 });
        const retried = await store.call("job", "retried");
        await retry((retried as { readonly seq: number }).seq, 10_000);
        await store.call("release", {
          seq: ((await store.call("job", "expires")) as { readonly seq: number }).seq,
          run: A,
        });
        clock.jumpTo(clock.now() + byMs);
        expect(await store.call("job", "delayed")).toMatchObject({ state: "delayed", runAt: clock.now() + 60_000 });
        expect(await store.call("job", "expires")).toMatchObject({ expiresAt: clock.now() + 30_000 });
        clock.advance(9_999);
        expect(await idsOf(take(A, { except: ["f"] }))).toEqual([]);
        expect(await counts()).toMatchObject({ delayed: 2 });
        clock.advance(1);
        expect(await take(A, { except: ["f"] })).toMatchObject({ nextDueMs: 50_000 });
        expect(await counts()).toMatchObject({ delayed: 1 });
        clock.advance(20_000);
        expect(await store.call("expire", null)).toEqual({ expired: 1, nextMs: undefined });
        clock.advance(30_000);
        expect(await idsOf(take())).toEqual(["retried", "delayed"]);
      });

      it("forward run when an instant that was asked for has come, and do not wait behind later ones", async () => {
        await add("instant", { runAt: clock.now() + 3_600_000 });
        clock.jumpTo(clock.now() + YEAR);
        await add("later");
        clock.advance(5_000);
        expect(await idsOf(take(A, { limit: 1 }))).toEqual(["instant"]);
      });

      it("back keep their instant, and later jobs do not overtake those that wait", async () => {
        const at = clock.now() + 3_600_000;
        await add("instant", { runAt: at });
        await add("first");
        clock.jumpTo(clock.now() - YEAR);
        await add("second");
        expect(await store.call("job", "instant")).toMatchObject({ runAt: at });
        expect(await take()).toMatchObject({ jobs: [{ id: "first" }, { id: "second" }], nextDueMs: YEAR + 3_600_000 });
      });

      it("are listed by the time at which they are due on the wall clock, page by page", async () => {
        await add("c", { delayMs: 30_000 });
        await add("a", { delayMs: 10_000 });
        clock.jumpTo(clock.now() + YEAR);
        await add("b", { runAt: clock.now() + 20_000 });
        await add("d", { runAt: clock.now() + 40_000 });
        const pages: string[][] = [];
        for (let after: { seq: number; at: number } | undefined; ; ) {
          const page = await store.call("peek", { queue: "q", state: "delayed", after, limit: 3, maxBytes: 1_000 });
          if (page.length === 0) break;
          pages.push(page.map(({ id }) => id));
          const last = page.at(-1);
          after = { seq: last?.seq ?? 0, at: last?.runAt ?? 0 };
        }
        expect(pages).toEqual([["a", "b", "c"], ["d"]]);
        const offset = await store.call("peek", { queue: "q", state: "delayed", offset: 1, limit: 2, maxBytes: 1_000 });
        expect(offset.map(({ id }) => id)).toEqual(["b", "c"]);
      });
    });

    it("notes when a subscription was last seen, and drops old messages of topics without one", async () => {
      const bounds = { messages: 10, bytes: 1_000, allMessages: 10, allBytes: 1_000, ageMs: 60_000 };
      const keep = (id: string) => {
        const made = { maker: undefined, traceparent: undefined, baggage: undefined };
        return store.call("addToBacklog", { message: { id, topic: "t", data: "1", bytes: 1, ...made }, bounds });
      };
      await keep("1");
      clock.advance(1_000);
      await keep("2");
      expect(await store.call("dropOld", { ageMs: 1_000 })).toBe(1);
      expect(await store.call("backlogs", null)).toEqual([{ topic: "t", messages: 1, bytes: 1 }]);
      const job = { queue: "t", functionId: "f", priority: 0, dedupeWindowMs: 0, maxAttempts: 3, limits };
      const subscription = { topic: "t", functionId: "f" };
      await store.call("subscribe", { ...subscription, config: "{}", owner: "", ageMs: 60_000, job });
      clock.advance(2_000);
      expect(await store.call("subscriptions", null)).toMatchObject([{ ...subscription, unseenMs: 2_000 }]);
      await store.call("touchSubscriptions", { subscriptions: [subscription] });
      expect(await store.call("subscriptions", null)).toMatchObject([{ ...subscription, unseenMs: 0 }]);
    });

    it("accepts nothing after it was closed", async () => {
      const closing = store.close();
      await expect(add("a")).rejects.toMatchObject({ code: "draining" });
      await closing;
    });
  });
}
