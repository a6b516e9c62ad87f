import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { defaultDriver, openDatabase } from "../driver.ts";
import { copyReplica, type ReplicaCopy } from "./copy-replica.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-copy-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const copyOf = (file: string): ReplicaCopy => ({
  ...{ file, target: join(folder, "copy.db"), identity: "log", driver: defaultDriver() },
});

it("a copy that is given up ends at once, whatever SQLite does, and leaves no file", async () => {
  const file = join(folder, "replica.db");
  const database = openDatabase(file);
  // The statement that copies it waits for the lock.
  database.exec("CREATE TABLE any (x); BEGIN EXCLUSIVE");
  const abort = new AbortController();
  const copying = expect(copyReplica(copyOf(file), abort.signal)).rejects.toMatchObject({ name: "AbortError" });
  const drafts = (): string[] => readdirSync(folder).filter((name) => name.startsWith(".copy.db."));
  await expect.poll(drafts).toHaveLength(1);
  // SQLite leaves it if its process is ended while it writes a large copy.
  writeFileSync(join(folder, `${drafts()[0]}-journal`), "");
  abort.abort();
  await copying;
  expect(readdirSync(folder).filter((name) => name.includes("copy"))).toEqual([]);
  database.exec("COMMIT");
  database.close();
});

it("a copy that fails says why", async () => {
  const file = join(folder, "replica.db");
  const database = openDatabase(file);
  database.exec("CREATE TABLE any (x)");
  database.close();
  const { signal } = new AbortController();
  await expect(copyReplica(copyOf(file), signal)).rejects.toThrow("no such table: replica_state");
  expect(readdirSync(folder)).toEqual(["replica.db"]);
});
