import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDatabase } from "../../store/driver.ts";
import { accessOfRole, type InMemoryEngine, type ManualClock, manualClock } from "../../testing/index.ts";
import { bind, cronEngine, history, pass, settled, storeIdle, ticking, turns } from "./testing/cron-engine.ts";

let dataDir: string;
let clock: ManualClock;
let engine: InMemoryEngine;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "svc-cron-"));
  clock = manualClock(Date.UTC(2026, 0, 1));
  engine = await cronEngine({ clock, dataDir });
});
afterEach(async () => {
  await stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Runs in progress get 5 s. */
async function stop(): Promise<void> {
  const stopped = engine.stop();
  await turns(50);
  clock.advance(5_000);
  await stopped;
}

/** Restarts the engine `ms` milliseconds after the given time. */
async function restartAt(time: string): Promise<void> {
  await stop();
  clock = manualClock(Date.parse(time));
  engine = await cronEngine({ clock, dataDir });
}

/** A worker that registers the trigger `t` after a restart. */
async function again(config: object, handle?: Parameters<typeof ticking>[2]) {
  const listening = await ticking(engine, "on::tick", handle);
  await bind(engine, listening.worker, config, { id: "t" });
  await settled(engine, "t");
  return listening;
}
const minutes = (times: readonly string[]) => times.map((time) => time.slice(11, 16));

describe("after a restart", () => {
  it("a tick that was started is not started again (T-1) (gap 19)", async () => {
    const config = { expression: "0 * * * * *", misfire: "all" };
    const before = await again(config);
    await pass(engine, clock, "t", 120_000, 10_000);
    expect(minutes(before.times())).toEqual(["00:01", "00:02"]);
    await restartAt("2026-01-01T00:02:00.500Z");
    const after = await again(config);
    await pass(engine, clock, "t", 60_000, 10_000);
    expect(minutes(after.times())).toEqual(["00:03"]);
  });

  it.each(["allow", "skip"])(
    "no tick starts while the engine shuts down, and those that come due then are missed ones of the next start, overlap %s (T-1) (T-3)",
    async (overlap) => {
      const config = { expression: "*/10 * * * * *", misfire: "all", overlap };
      const before = await again(config);
      await pass(engine, clock, "t", 10_000);
      engine.startDraining();
      await pass(engine, clock, "t", 30_000);
      expect(before.ticks).toHaveLength(1);
      expect(await history(engine, "t")).toMatchObject([{ scheduled_time: "2026-01-01T00:00:10.000Z", outcome: "ok" }]);
      await restartAt("2026-01-01T00:00:45Z");
      const after = await again(config);
      await after.count(3);
      await settled(engine, "t");
      expect(after.times().map((time) => time.slice(17, 19))).toEqual(["20", "30", "40"]);
      expect((await history(engine, "t")).map(({ outcome }) => outcome)).toEqual(["ok", "ok", "ok", "ok"]);
      expect(engine.logs.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
    },
  );

  it("a run that had not ended is an error in the history, and is not run again (T-1) (T-6)", async () => {
    const config = { expression: "0 * * * * *" };
    const before = await again(config, () => new Promise(() => {}));
    await pass(engine, clock, "t", 60_000, 10_000);
    await before.count(1);
    await restartAt("2026-01-01T00:01:10Z");
    const after = await again(config);
    expect(after.ticks).toEqual([]);
    expect(await history(engine, "t")).toMatchObject([
      { scheduled_time: "2026-01-01T00:01:00.000Z", outcome: "error" },
    ]);
  });

  it.each([
    ["skip", []],
    ["once", ["05:00"]],
    ["all", ["01:00", "02:00", "03:00", "04:00", "05:00"]],
  ])("misfire %s decides on what was missed (T-3) (gap 18)", async (misfire, expected) => {
    const config = { expression: "@hourly", misfire };
    await again(config);
    await restartAt("2026-01-01T05:30:00Z");
    const { times } = await again(config);
    for (let round = 0; round < 5; round++) await settled(engine, "t");
    expect(minutes(times())).toEqual(expected);
    if (misfire === "skip")
      expect(await history(engine, "t")).toMatchObject([
        { outcome: "skipped", passed_over: 5, error: expect.stringMatching(/^missed/) },
      ]);
    await pass(engine, clock, "t", 1_800_000, 60_000);
    expect(minutes(times()).at(-1)).toBe("06:00");
  });

  it("a tick that came due less than a minute ago is started, late (T-3)", async () => {
    await again({ expression: "@hourly" });
    await restartAt("2026-01-01T01:00:40Z");
    const { ticks } = await again({ expression: "@hourly" });
    expect(ticks).toMatchObject([
      { scheduled_time: "2026-01-01T01:00:00.000Z", actual_time: "2026-01-01T01:00:40.000Z" },
    ]);
  });

  it("a pause and the last runs are there, whatever id the trigger has now (gap 18) (gap 20)", async () => {
    const config = { expression: "@hourly", misfire: "all" };
    await again(config);
    await pass(engine, clock, "t", 3_600_000, 600_000);
    await engine.call("cron::pause", { trigger_id: "t" });
    await restartAt("2026-01-01T04:30:00Z");
    const { worker, times } = await ticking(engine);
    await bind(engine, worker, config, { id: "other" });
    await settled(engine, "other");
    expect(await engine.call("cron::list")).toMatchObject({
      triggers: [
        {
          trigger_id: "other",
          status: "paused",
          next_runs: [],
          last_run: { scheduled_time: "2026-01-01T01:00:00.000Z", outcome: "ok" },
        },
      ],
    });
    await pass(engine, clock, "other", 3_600_000, 600_000);
    expect(times()).toEqual([]);
    expect(await engine.call("cron::resume", { trigger_id: "other" })).toMatchObject({ status: "active" });
    await pass(engine, clock, "other", 3_600_000, 600_000);
    expect(minutes(times())).toEqual(["06:00"]);
  });

  it("a trigger that was taken back meanwhile has missed nothing, and keeps its history", async () => {
    const config = { expression: "@hourly", misfire: "all" };
    const { worker } = await again(config);
    await pass(engine, clock, "t", 3_600_000, 600_000);
    worker.say({ type: "unregistertrigger", id: "t", trigger_type: "cron" });
    await turns();
    const probe = await engine.connectWorker();
    await bind(engine, probe, { expression: "@yearly" }, { id: "probe" });
    await storeIdle(engine, "probe");
    await restartAt("2026-01-01T05:30:00Z");
    const { times } = await again(config);
    expect(times()).toEqual([]);
    expect(await history(engine, "t")).toHaveLength(1);
  });

  it("a restricted connection that asks for an equal trigger and leaves drops nothing that a trusted worker missed", async () => {
    const config = { expression: "@hourly", misfire: "all" };
    await again(config);
    await restartAt("2026-01-01T02:30:00Z");
    const guest = await engine.connectWorker({ access: accessOfRole("guest", ["on::tick"]) });
    await bind(engine, guest, config, { id: "g" });
    guest.close();
    await turns();
    await restartAt("2026-01-01T03:30:00Z");
    const { count, times } = await again(config);
    await count(3);
    expect(times().map((time) => time.slice(11, 13))).toEqual(["01", "02", "03"]);
  });

  it("a clock that was set back meanwhile goes on at its next instant, and starts nothing twice (T-1) (T-5)", async () => {
    const config = { expression: "*/30 * * * *" };
    const ahead = await again(config);
    await pass(engine, clock, "t", 3_600_000, 1_800_000);
    clock.jumpTo(Date.parse("2026-01-01T04:10:00Z"));
    await pass(engine, clock, "t", 3_600_000, 1_800_000);
    expect(minutes(ahead.times())).toEqual(["00:30", "01:00", "04:30", "05:00"]);
    await restartAt("2026-01-01T02:10:00Z");
    const behind = await again(config);
    expect(await engine.call("cron::list")).toMatchObject({
      triggers: [{ status: "active", next_runs: { 0: "2026-01-01T02:30:00.000Z" } }],
    });
    await pass(engine, clock, "t", 3_600_000, 1_800_000);
    expect(minutes(behind.times())).toEqual(["02:30", "03:00"]);
    // Started ticks are remembered across another restart.
    await restartAt("2026-01-01T03:20:00Z");
    const last = await again(config);
    await pass(engine, clock, "t", 2.5 * 3_600_000, 1_800_000);
    expect(minutes(last.times())).toEqual(["03:30", "04:00", "05:30"]);
  });

  it("a clock that was a year ahead when the engine ended goes on at its next instant (T-5)", async () => {
    const config = { expression: "* * * * *" };
    await again(config);
    clock.jumpTo(Date.parse("2027-01-01T00:00:00Z"));
    await pass(engine, clock, "t", 3_000);
    await restartAt("2026-01-01T00:00:30Z");
    const { times } = await again(config);
    await pass(engine, clock, "t", 120_000, 10_000);
    expect(minutes(times())).toEqual(["00:01", "00:02"]);
  });

  it("a schedule of an older engine that had decided a year ahead goes on at its next instant, and starts nothing twice (T-5)", async () => {
    const config = { expression: "0 * * * * *" };
    await again(config);
    await pass(engine, clock, "t", 120_000, 10_000);
    await stop();
    const database = openDatabase(join(dataDir, "cron.db"));
    database.exec(`ALTER TABLE jobs DROP COLUMN handled_since; ALTER TABLE jobs DROP COLUMN handled; ALTER TABLE jobs DROP COLUMN trusted; DROP TABLE holders;
      PRAGMA user_version=1;
      UPDATE jobs SET decided_until = ${Date.parse("2027-01-01T00:00:00Z")}`);
    database.close();
    clock = manualClock(Date.parse("2026-01-01T00:01:30Z"));
    engine = await cronEngine({ clock, dataDir });
    const { times } = await again(config);
    await pass(engine, clock, "t", 120_000, 10_000);
    expect(minutes(times())).toEqual(["00:03"]);
  });

  it("at random moments, with random leaps of the clock, each tick has been started at most once (T-1) (T-5) (gap 19)", async () => {
    const seed = Number(process.env.SVC_SEED ?? Date.now() % 1_000_000);
    let state = seed;
    const random = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * below);
    };
    const started: string[] = [];
    const config = { expression: "*/10 * * * * *", misfire: "all", overlap: "queue_one" };
    const note = (tick: { readonly scheduled_time: string }) => void started.push(tick.scheduled_time);
    await again(config, note);
    for (let round = 0; round < 12; round++) {
      const what = random(3);
      if (what === 0) {
        await restartAt(new Date(clock.now() + random(240_000) - 60_000).toISOString());
        await again(config, note);
      } else if (what === 1) clock.jumpTo(clock.now() + random(14_400_000) - 7_200_000);
      await pass(engine, clock, "t", 30_000, 5_000);
    }
    expect(new Set(started).size, `seed ${seed}`).toBe(started.length);
    expect(started.length, `seed ${seed}`).toBeGreaterThan(0);
    // With `all`, thousands of ticks are caught up one by one.
  }, 60_000);
});
