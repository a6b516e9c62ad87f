import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Store } from "../../../../kernel/store-contract.ts";
import { type ManualClock, manualClock } from "../../../../testing/manual-clock.ts";
import type { CronProcedures } from "../procedures.ts";
import type { Adoption, NewRun, StoredJob } from "../rows.ts";

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const at = (minute: number): number => START + minute * MINUTE;
/** Two runs of the engine that use one store. */
const [A, B] = ["run a", "run b"];

/** Guarantees of the procedures of svc-cron, on every kind of store. `open` returns an empty store that uses the clock. */
export function cronStoreSuite(name: string, open: (clock: ManualClock) => Promise<Store<CronProcedures>>): void {
  describe(`cron jobs in ${name}`, () => {
    let store: Store<CronProcedures>;
    let clock: ManualClock;
    beforeEach(async () => {
      clock = manualClock(START);
      store = await open(clock);
    });
    afterEach(() => store.close());

    async function adopt(members: readonly string[], more: Partial<Adoption> = {}): Promise<StoredJob> {
      const adoption: Adoption = {
        ...{ kind: "adopt", id: "j", functionId: "f", config: "{}", now: at(0), redeliverFrom: undefined },
        ...{ isTrusted: true, ...more },
      };
      const [stored] = await store.call("register", {
        changes: [adoption],
        engine: String(members[0]),
        members,
        isShared: true,
      });
      if (stored === undefined) throw new Error("the store returned no job");
      return stored;
    }
    function runAt(minute: number, more: Partial<NewRun> = {}): NewRun {
      return {
        ...{ scheduledAt: at(minute), startedAt: at(minute), finishedAt: null, outcome: null, error: null },
        ...{ manual: false, skippedCount: 0, ...more },
      };
    }
    /** Returns the number of the started run, or why it was not started. */
    async function start(engine: string, minute: number, mayOverlap = true): Promise<number | string> {
      const entry = { id: "j", run: runAt(minute), decidedUntil: at(minute) };
      const outcome = await store.call("start", { engine, entry, mayOverlap });
      return outcome.status === "started" ? outcome.run.seq : outcome.status;
    }
    const history = () => store.call("history", { id: "j", limit: 100 });

    it("start a tick once, whichever run asks, and number all starts in one sequence", async () => {
      await adopt([A, B]);
      expect(await start(A, 1)).toBe(1);
      expect(await start(B, 1)).toBe("decided");
      expect(await start(B, 2)).toBe(2);
      expect(await start(A, 1)).toBe("decided");
      const entry = { id: "j", run: runAt(2, { manual: true }), decidedUntil: undefined };
      const manual = await store.call("start", { engine: A, entry, mayOverlap: true });
      expect(manual).toMatchObject({ status: "started", run: { seq: 3 } });
      expect((await history()).map(({ seq, scheduledAt }) => [seq, scheduledAt])).toEqual([
        [3, at(2)],
        [2, at(2)],
        [1, at(1)],
      ]);
    });

    it("start a tick again if its start was undone, unless a later one is decided", async () => {
      await adopt([A]);
      await start(A, 1);
      expect(await store.call("undoStart", { id: "j", seq: 1, scheduledAt: at(1), decidedUntil: at(0) })).toBe(true);
      expect(await history()).toEqual([]);
      expect(await start(A, 1)).toBe(1);
      await start(A, 2);
      expect(await store.call("undoStart", { id: "j", seq: 1, scheduledAt: at(1), decidedUntil: at(0) })).toBe(false);
    });

    it("start no tick that is handled, after the clock was set back", async () => {
      await adopt([A]);
      await start(A, 5);
      const handled = { since: at(2), ranges: [[at(3), at(5)]] as const };
      const rewind = { kind: "rewind", id: "j", decidedUntil: at(2), handled } as const;
      await store.call("register", { changes: [rewind], engine: A, members: [A], isShared: true });
      expect([await start(A, 4), await start(A, 5), await start(A, 6)]).toEqual(["decided", "decided", 2]);
    });

    it("start no tick while they are paused, whichever run asks", async () => {
      await adopt([A]);
      await store.call("setPaused", { id: "j", paused: true, decidedUntil: null, handled: null });
      expect(await start(B, 1)).toBe("decided");
    });

    it("are not interrupted by another run while their own is open", async () => {
      await adopt([A]);
      await start(A, 1);
      const seen = await adopt([B, A], { now: at(2), redeliverFrom: at(0) });
      expect(seen).toMatchObject({ toRedeliver: [], decidedUntil: at(1), lastRun: { seq: 1, outcome: null } });
      expect(await history()).toMatchObject([{ outcome: null, finishedAt: null }]);
    });

    it("end their unfinished run as interrupted when its run of the engine is gone", async () => {
      await adopt([A]);
      await start(A, 1);
      await adopt([B], { now: at(2) });
      expect(await history()).toMatchObject([{ outcome: "error", finishedAt: at(2) }]);
    });

    it("hand the start of a queue job that a run left to the first one that asks, and to no other", async () => {
      await adopt([A]);
      await start(A, 1);
      expect((await adopt([B], { redeliverFrom: at(0) })).toRedeliver).toMatchObject([{ seq: 1 }]);
      expect((await adopt(["run c", B], { redeliverFrom: at(0) })).toRedeliver).toEqual([]);
      expect((await adopt(["run c"], { redeliverFrom: at(2) })).toRedeliver).toEqual([]);
      expect(await history()).toMatchObject([{ outcome: "error" }]);
    });

    it("keep their last 100 runs, and how each of them ended", async () => {
      await adopt([A]);
      const add = (minute: number) =>
        store.call("add", { engine: A, entry: { id: "j", run: runAt(minute), decidedUntil: at(minute) } });
      await Promise.all(Array.from({ length: 102 }, (_, index) => add(index + 1)));
      const run = { ...runAt(102, { outcome: "ok", finishedAt: at(103) }), seq: 102 };
      await store.call("finish", { id: "j", run });
      const runs = await history();
      expect([runs.length, runs.at(-1)?.seq, runs[0]]).toEqual([100, 3, run]);
      const entry = { id: "unknown", run: runAt(1), decidedUntil: undefined };
      expect(await store.call("add", { engine: A, entry })).toBeUndefined();
      expect(await store.call("history", { id: "unknown", limit: 1 })).toEqual([]);
    });

    it("have one entry for consecutive ticks that were skipped for the same reason, whichever run skipped them", async () => {
      await adopt([A, B]);
      const skip = (engine: string, minute: number, error: string) => {
        const more = { startedAt: null, finishedAt: at(minute), outcome: "skipped", error, skippedCount: 2 } as const;
        const entry = { id: "j", run: runAt(minute, more), decidedUntil: at(minute) };
        return store.call("add", { engine, entry });
      };
      await skip(A, 1, "missed");
      expect(await skip(B, 3, "missed")).toMatchObject({ seq: 1, scheduledAt: at(3), skippedCount: 4 });
      expect(await skip(A, 5, "absent")).toMatchObject({ seq: 2, skippedCount: 2 });
    });

    it("stay paused until they are resumed, and miss nothing while they are retired", async () => {
      await adopt([A]);
      await store.call("setPaused", { id: "j", paused: true, decidedUntil: null, handled: null });
      expect(await adopt([A])).toMatchObject({ paused: true, decidedUntil: at(0) });
      const handled = { since: at(3) + 1, ranges: [] };
      await store.call("setPaused", { id: "j", paused: false, decidedUntil: at(3), handled });
      expect(await adopt([A])).toMatchObject({ paused: false, decidedUntil: at(3), handled });
      const retired = { kind: "retire", id: "j" } as const;
      const change = (isTrusted: boolean) =>
        store.call("register", { changes: [{ ...retired, isTrusted }], engine: A, members: [A], isShared: true });
      await change(false);
      expect(await adopt([A], { now: at(9) })).toMatchObject({ decidedUntil: at(3) });
      await change(true);
      expect(await adopt([A], { now: at(10) })).toMatchObject({ decidedUntil: at(10) });
    });

    it("are deleted when they were not used for long, whatever happens to the wall clock", async () => {
      await adopt([A]);
      clock.advance(5 * MINUTE);
      await adopt([A], { id: "other" });
      clock.jumpTo(clock.now() + 365 * 24 * 60 * MINUTE);
      clock.advance(5 * MINUTE);
      await store.call("touch", { ids: ["j"] });
      expect(await store.call("purge", { unusedMs: 5 * MINUTE })).toEqual({ jobs: 0, mayBeMore: false });
      clock.advance(1);
      expect(await store.call("purge", { unusedMs: 5 * MINUTE })).toEqual({ jobs: 1, mayBeMore: false });
      expect(await adopt([A], { id: "other", now: at(20) })).toMatchObject({ decidedUntil: at(20) });
      expect(await adopt([A], { now: at(20) })).toMatchObject({ decidedUntil: at(0) });
    });
  });
}
