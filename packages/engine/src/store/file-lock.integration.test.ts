import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { lockFile, tryFileLock } from "./file-lock.ts";

// data-folder.integration.test.ts tests that the lock is released when its process ends or is killed.
let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-lock-"));
  file = join(folder, "below", "a.lock");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("has one holder at a time, however many wait", async () => {
  let holders = 0;
  let most = 0;
  const waiting = Array.from({ length: 50 }, async () => {
    // A signal for each: Node warns about more than ten listeners of one.
    const lock = await lockFile(file, { signal: AbortSignal.timeout(25_000) });
    most = Math.max(most, ++holders);
    await turn();
    holders--;
    lock.release();
    lock.release();
  });
  await Promise.all(waiting);
  expect(most).toBe(1);
});

it("is waited for until the signal, and says once that it is waited for", async () => {
  const lock = tryFileLock(file);
  let waits = 0;
  const onWait = (): void => {
    waits++;
  };
  await expect(lockFile(file, { signal: AbortSignal.timeout(100), onWait })).rejects.toThrow("timeout");
  expect(waits).toBe(1);
  lock?.release();
  (await lockFile(file, { signal: AbortSignal.timeout(5_000), onWait })).release();
  expect(waits).toBe(1);
});

// Another user's file. Root may write to every file, so the test drops root rights for a moment.
it("is refused where the file cannot be written to", () => {
  mkdirSync(join(folder, "below"));
  writeFileSync(file, "", { mode: 0o444 });
  chmodSync(folder, 0o755);
  chmodSync(join(folder, "below"), 0o777);
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    expect(() => tryFileLock(file)).toThrow(/EACCES/);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});
