import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openDatabase } from "../../store/driver.ts";
import { type InMemoryEngine, type ManualClock, manualClock } from "../../testing/index.ts";
import { bind, cronEngine, history, pass, ticking, turns } from "./testing/cron-engine.ts";

let dataDir: string;
let clock: ManualClock;
let engine: InMemoryEngine;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "svc-cron-"));
  clock = manualClock(Date.UTC(2026, 0, 1));
  engine = await cronEngine({ clock, dataDir });
});
afterEach(async () => {
  await engine.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

it("a tick that cannot be stored is not started; it is shown as an error, and started once the store writes again (T-1)", async () => {
  const { worker, times, count } = await ticking(engine);
  await bind(engine, worker, { expression: "0 * * * * *" }, { id: "t" });
  // A database trigger simulates a full disk.
  const database = openDatabase(join(dataDir, "cron.db"));
  // The store may be writing.
  database.exec("PRAGMA busy_timeout=20000");
  database.exec("CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END");
  const isShown = new Promise<void>((resolve) => {
    engine.directory.onChange(() => engine.directory.triggerById("t")?.status === "error" && resolve());
  });
  clock.advance(60_000);
  await isShown;
  expect(times()).toEqual([]);
  expect(engine.directory.triggerById("t")).toMatchObject({
    reason: expect.stringMatching(/^cannot be stored: .*no room/),
  });
  database.exec("DROP TRIGGER full");
  database.close();
  await pass(engine, clock, "t", 2_000);
  await count(1);
  await turns();
  expect(times()).toEqual(["2026-01-01T00:01:00.000Z"]);
  expect(engine.directory.triggerById("t")).toMatchObject({ status: "active" });
  expect(await history(engine, "t")).toMatchObject([{ outcome: "ok" }]);
});

/** The database then refuses to store how a run ended. */
async function startWithoutOutcome() {
  const { worker, count } = await ticking(engine);
  await bind(engine, worker, { expression: "0 * * * * *", overlap: "skip" }, { id: "t" });
  const database = openDatabase(join(dataDir, "cron.db"));
  database.exec("PRAGMA busy_timeout=20000");
  database.exec("CREATE TRIGGER full BEFORE UPDATE OF outcome ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END");
  clock.advance(60_000);
  await count(1);
  const isLogged = (): boolean =>
    engine.logs.some(({ message }) => message === "outcome of a cron tick could not be stored");
  await expect.poll(isLogged).toBe(true);
  return database;
}

it("an outcome that cannot be stored is stored once the store writes again, so that the run does not go on for ever", async () => {
  const database = await startWithoutOutcome();
  await pass(engine, clock, "t", 2_000);
  expect(await history(engine, "t")).toMatchObject([{ outcome: null }]);
  database.exec("DROP TRIGGER full");
  database.close();
  await pass(engine, clock, "t", 5_000);
  expect(await history(engine, "t")).toMatchObject([{ outcome: "ok" }]);
});

it("an outcome that cannot be stored does not keep the engine from stopping", async () => {
  const database = await startWithoutOutcome();
  database.close();
});
