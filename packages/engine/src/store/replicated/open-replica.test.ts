import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { defaultDriver, openDatabase } from "../driver.ts";
import { openMemoryDatabase } from "./open-replica.ts";

it("gives no number of a removed row again in a copy in memory", () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-replica-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const seed = join(folder, "seed.db");
  const source = openDatabase(seed);
  source.exec(`CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT);
    INSERT INTO changes (kind) VALUES ('a'), ('b'), ('c');
    DELETE FROM changes WHERE seq > 1;
    PRAGMA user_version=1`);
  source.close();
  const copy = openMemoryDatabase(
    { schema: ["SELECT 1"], openProcedures: () => ({}) },
    { driver: defaultDriver(), seed },
  );
  onTestFinished(() => copy.close());
  copy.exec("INSERT INTO changes (kind) VALUES ('d')");
  expect(copy.prepare("SELECT seq FROM changes ORDER BY seq").all()).toEqual([{ seq: 1 }, { seq: 4 }]);
});
