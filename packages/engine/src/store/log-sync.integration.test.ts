import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { LogSync } from "./log-sync.ts";

const root = mkdtempSync(join(tmpdir(), "svc-log-sync-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Resolves with the first failure. */
function firstFailure(
  file: string,
): Promise<{ readonly reason: string; readonly sync: LogSync; readonly afterMs: number }> {
  const started = performance.now();
  return new Promise((resolve) => {
    const sync: LogSync = new LogSync(file, (reason) =>
      resolve({ reason, sync, afterMs: performance.now() - started }),
    );
    sync.note();
  });
}

describe("the sync of a log", () => {
  it("syncs within a second of a write, and reports a failure", async () => {
    const file = join(root, "a.db");
    // A folder cannot be opened for writing, so this log cannot be synced.
    mkdirSync(`${file}-wal`);
    const { reason, sync, afterMs } = await firstFailure(file);
    expect(reason).toMatch(/EISDIR/);
    expect(afterMs).toBeGreaterThan(400);
    await sync.stop();
  });

  it("ignores a missing log, and stops at once", async () => {
    const failures: string[] = [];
    const sync = new LogSync(join(root, "gone.db"), (reason) => failures.push(reason));
    sync.note();
    await new Promise((resolve) => setTimeout(resolve, 600));
    await sync.stop();
    sync.note();
    expect(failures).toEqual([]);
  });

  it("tries again after a failure once more was written", async () => {
    const file = join(root, "b.db");
    mkdirSync(`${file}-wal`);
    const failures: (() => void)[] = [];
    const failed = () => new Promise<void>((resolve) => failures.push(resolve));
    const sync = new LogSync(file, () => failures.shift()?.());
    for (let round = 0; round < 2; round++) {
      const next = failed();
      sync.note();
      await next;
    }
    rmSync(`${file}-wal`, { recursive: true });
    writeFileSync(`${file}-wal`, "");
    sync.note();
    await sync.stop();
    expect(failures).toEqual([]);
  });
});
