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
