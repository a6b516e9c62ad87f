import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { createLogger, type LogRecord, silentLogger } from "../kernel/logger.ts";
import type { Store } from "../kernel/store-contract.ts";
import { manualClock } from "../testing/manual-clock.ts";
import { openDatabase } from "./driver.ts";
import { snapshotDatabase } from "./snapshot.ts";
import { appliedSuite } from "./testing/applied-suite.ts";
import { type LedgerProcedures, schema } from "./testing/ledger-procedures.ts";
import { openThreadStore, type ThreadStoreOptions } from "./thread-store.ts";

const root = mkdtempSync(join(tmpdir(), "svc-store-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let files = 0;
function freshFile(): string {
  files += 1;
  return join(root, `${files}.db`);
}

function open(options: Partial<ThreadStoreOptions> = {}): Promise<Store<LedgerProcedures>> {
  return openThreadStore<LedgerProcedures>({
    file: freshFile(),
    procedures: new URL("./testing/ledger-procedures.js", import.meta.url),
    log: silentLogger,
    ...options,
  });
}

/** Returns the paths of this process's open files. Paths of removed files end with " (deleted)". */
function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((handle) => {
    try {
      return [readlinkSync(`/proc/self/fd/${handle}`)];
    } catch {
      return [];
    }
  });
}

/** Returns the nice values of this process's threads. Format: proc_pid_stat(5), field 19. */
function niceValues(): number[] {
  return readdirSync("/proc/self/task").flatMap((thread) => {
    const file = `/proc/self/task/${thread}/stat`;
    // Threads may end meanwhile.
    if (!existsSync(file)) return [];
    const stat = readFileSync(file, "utf8");
    return [Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16])];
  });
}

appliedSuite("a store in a file", () => open());

describe("the store", () => {
  it.runIf(process.platform === "linux")("runs background work in a thread of lower priority", async () => {
    const normal = Math.max(...niceValues());
    const store = await open();
    expect(Math.max(...niceValues())).toBe(normal);
    const background = await open({ isBackground: true });
    expect(Math.max(...niceValues())).toBe(Math.max(normal, 10));
    await Promise.all([store.close(), background.close()]);
  });

  it("begins to commit a write that is alone before the event loop turns", async () => {
    const file = freshFile();
    const store = await open({ file });
    const reader = openDatabase(file);
    const count = reader.prepare<{ readonly lines: number }>("SELECT count(*) AS lines FROM lines");

    const written = store.call("add", "alone");
    await new Promise<void>((resolve) => process.nextTick(resolve));
    // Blocks the event loop meanwhile.
    const giveUpAt = performance.now() + 20_000;
    while (count.get()?.lines === 0 && performance.now() < giveUpAt);

    expect(count.get()).toEqual({ lines: 1 });
    await written;
    reader.close();
    await store.close();
  });

  it("commits a write that may wait with the next one, or after a millisecond", async () => {
    const file = freshFile();
    const store = await open({ file });
    const reader = openDatabase(file);
    const count = reader.prepare<{ readonly lines: number }>("SELECT count(*) AS lines FROM lines");
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    try {
      const first = store.call("add", "first", { mayWait: true });
      await new Promise<void>((resolve) => setImmediate(resolve));
      // The thread would commit meanwhile what was sent to it.
      const end = performance.now() + 50;
      while (performance.now() < end);
      expect(count.get()).toEqual({ lines: 0 });
      const settled: number[] = [];
      await Promise.all([first.then(() => settled.push(1)), store.call("add", "next").then(() => settled.push(2))]);
      expect(settled).toEqual([1, 2]);

      const alone = store.call("add", "alone", { mayWait: true });
      vi.advanceTimersByTime(1);
      await alone;
    } finally {
      vi.useRealTimers();
    }
    reader.close();
    await store.close();
  });

  it("keeps its files for their owner alone, whatever the modes of the folder and of the files that it finds", async () => {
    const folder = mkdtempSync(join(root, "open-"));
    chmodSync(folder, 0o777);
    const [fresh, found] = [join(folder, "fresh.db"), join(folder, "found.db")];
    const before = await open({ file: found });
    await before.close();
    chmodSync(found, 0o644);
    const stores = [await open({ file: fresh }), await open({ file: found })];
    for (const store of stores) await store.call("add", "secret");
    await snapshotDatabase({
      file: found,
      target: join(folder, "copy.db"),
      clock: systemClock,
      signal: new AbortController().signal,
    });
    const modes = readdirSync(folder).map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]);
    for (const store of stores) await store.close();
    expect(Object.fromEntries(modes)).toEqual(
      Object.fromEntries(
        ["copy.db", ...["fresh", "found"].flatMap((name) => [`${name}.db`, `${name}.db-shm`, `${name}.db-wal`])].map(
          (name) => [name, "600"],
        ),
      ),
    );
  });

  it("answers requests in the order of their calls", async () => {
    const store = await open();
    const settled: string[] = [];
    const calls = Array.from({ length: 200 }, (_, index) => {
      const call =
        index % 3 === 0
          ? store.call("texts", null)
          : index % 3 === 1
            ? store.call("add", `line ${index}`)
            : store.call("addThenRefuse", `line ${index}`);
      const note = () => settled.push(String(index));
      return call.then(note, note);
    });
    await Promise.all(calls);
    expect(settled).toEqual(Array.from({ length: 200 }, (_, index) => String(index)));
    await store.close();
  });

  it("reports a write whose caller was told that it timed out, when it is committed", async () => {
    const clock = manualClock();
    const store = await open({ clock });
    const seen: unknown[] = [];
    const reported = new Promise<void>((resolve) => {
      store.onApplied(({ procedure, input, mark }) => {
        seen.push([procedure, input, mark]);
        resolve();
      });
    });
    const late = expect(store.call("add", "late", { mark: 1 })).rejects.toMatchObject({
      code: "call_timeout",
      details: { outcome: "unknown" },
    });
    // The store sends the request in this turn, and its thread cannot answer before the next one.
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(30_000);
    await late;
    await reported;
    expect(seen).toEqual([["add", "late", 1]]);
    await store.close();
  });

  it("answers in parts what is large together, in the same order", async () => {
    const store = await open();
    await store.call("add", "x".repeat(20 * 1024 * 1024));
    const settled: string[] = [];
    const calls = Array.from({ length: 6 }, (_, index) =>
      index % 3 === 2
        ? store.call("add", `line ${index}`).then(() => settled.push(`added ${index}`))
        : store.call("texts", null).then((texts) => settled.push(`${texts.length} lines ${index}`)),
    );
    await Promise.all(calls);
    expect(settled).toEqual(["1 lines 0", "1 lines 1", "added 2", "2 lines 3", "2 lines 4", "added 5"]);
    await store.close();
  });

  it("passes a refusal on with its code and details, and a failure as storage_failed", async () => {
    const store = await open();
    await expect(store.call("addThenRefuse", "a")).rejects.toMatchObject({
      code: "state_conflict",
      message: "a is not wanted",
      details: { text: "a" },
    });
    await expect(store.call("addThenThrow", "a")).rejects.toMatchObject({
      code: "storage_failed",
      message: "addThenThrow: a defect",
    });
    await store.close();
  });

  it("says why it cannot write, and takes that back once it can", async () => {
    const logs: LogRecord[] = [];
    const store = await open({
      log: createLogger({ level: "info", now: () => 0, write: (record) => logs.push(record) }),
    });
    await expect(store.call("breakCommit", null)).rejects.toMatchObject({
      code: "storage_failed",
      details: { reason: expect.stringMatching(/COMMIT/), outcome: "not_written" },
    });
    expect(store.problem()).toMatch(/COMMIT/);
    await store.call("add", "a");
    expect(store.problem()).toBeUndefined();
    expect(logs.map((record) => record.message)).toEqual(["store cannot write", "store can write again"]);
    await store.close();
  });

  it("finds out by itself that it can write again", async () => {
    let sayRecovered = (): void => {};
    const recovered = new Promise<void>((resolve) => {
      sayRecovered = resolve;
    });
    const log = createLogger({
      level: "info",
      now: () => 0,
      write: (record) => record.message === "store can write again" && sayRecovered(),
    });
    const store = await open({ log });
    await expect(store.call("breakCommit", null)).rejects.toMatchObject({ code: "storage_failed" });
    await recovered;
    expect(store.problem()).toBeUndefined();
    await store.close();
  });

  it("writes everything to a new file after a failed sync, then accepts writes again, and keeps no file of the old database open", async () => {
    const file = freshFile();
    const store = await open({ file });
    await store.call("add", "before");
    const old = statSync(file).ino;
    await expect(store.call("breakDisk", null)).rejects.toMatchObject({
      code: "storage_failed",
      details: { outcome: "unknown" },
    });
    await expect(store.call("add", "refused")).rejects.toMatchObject({
      code: "storage_failed",
      details: { outcome: "not_written" },
    });
    expect(store.problem()).toMatch(/cannot sync/);
    expect(await store.call("texts", null)).toEqual(["before"]);
    await expect.poll(() => store.problem()).toBeUndefined();
    await store.call("add", "after");
    expect(await store.call("texts", null)).toEqual(["before", "after"]);
    expect(statSync(file).ino).not.toBe(old);
    expect(openFiles().filter((path) => path.startsWith(file) && path.endsWith("(deleted)"))).toEqual([]);
    await store.close();
  });

  it("renews a database whose sync failed before the engine was killed, before it opens", async () => {
    const file = freshFile();
    const first = await open({ file });
    await first.call("add", "before");
    await first.close();
    const old = statSync(file).ino;
    writeFileSync(`${file}.unsynced`, "");
    const store = await open({ file });
    await store.call("add", "at once");
    expect(await store.call("texts", null)).toEqual(["before", "at once"]);
    expect(statSync(file).ino).not.toBe(old);
    expect(existsSync(`${file}.unsynced`)).toBe(false);
    await store.close();
  });

  it("opens no more files the more often writes fail", async () => {
    const file = freshFile();
    const store = await open({ file });
    const failing = () => expect(store.call("breakCommit", null)).rejects.toMatchObject({ code: "storage_failed" });
    await failing();
    const before = openFiles().filter((path) => path.startsWith(file)).length;
    for (let time = 0; time < 20; time++) await failing();
    expect(openFiles().filter((path) => path.startsWith(file))).toHaveLength(before);
    await store.close();
  });

  it("finds after an unclean stop that an index does not fit its table", async () => {
    const file = freshFile();
    const broken = openDatabase(file);
    broken.exec(`PRAGMA journal_mode=WAL; ${schema.join(";")}; PRAGMA user_version=${schema.length};
      INSERT INTO lines (text) VALUES ('a'), ('b'); CREATE INDEX extra ON notes (line + 1);
      PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO notes (line) VALUES (1)`);
    const copy = freshFile();
    for (const end of ["", "-wal"]) copyFileSync(`${file}${end}`, `${copy}${end}`);
    broken.close();
    // Newer versions of SQLite reject writes to sqlite_schema.
    const pages = readFileSync(copy);
    pages.write("line + 2", pages.indexOf("line + 1"));
    writeFileSync(copy, pages);
    const store = await open({ file: copy });
    await expect.poll(() => store.damage()).toMatch(/is damaged: .*extra/);
    await store.close();
  });

  it("fails what the thread held when the thread ends, starts another, and has lost nothing that was answered", async () => {
    const store = await open();
    await store.call("add", "answered");
    const held = [store.call("add", "held"), store.call("endThread", null)];
    for (const call of held)
      await expect(call).rejects.toMatchObject({
        code: "storage_failed",
        message: expect.stringMatching(/thread ended.*exit code 3/),
        details: { outcome: "unknown" },
      });
    expect(await store.call("texts", null)).toEqual(["answered"]);
    await store.call("add", "after");
    await store.close();
  });

  it("sends requests that arrive while the thread is down to the next thread", async () => {
    const store = await open();
    await expect(store.call("endThread", null)).rejects.toMatchObject({ code: "storage_failed" });
    await Promise.all([store.call("add", "a"), store.call("add", "b")]);
    expect(await store.call("texts", null)).toEqual(["a", "b"]);
    await store.close();
  });

  it("refuses what is over its bounds in number or bytes, and takes requests again when there is room", async () => {
    const store = await open({ maxRequests: 3, maxBytes: 10_000 });
    const taken = [store.call("add", "a"), store.call("add", "b"), store.call("add", "c")];
    await expect(store.call("add", "d")).rejects.toMatchObject({
      code: "overloaded",
      details: { requests: 3, max_requests: 3 },
    });
    await Promise.all(taken);
    const large = store.call("add", "e", { bytes: 20_000 });
    await expect(store.call("add", "f")).rejects.toMatchObject({ code: "overloaded", details: { max_bytes: 10_000 } });
    await large;
    expect(await store.call("texts", null)).toEqual(["a", "b", "c", "e"]);
    await store.close();
  });

  it("rejects a request at its deadline, sent or not, and continues when the thread answers", async () => {
    const store = await open({ requestTimeoutMs: 100 });
    const stuck = store.call("waitMs", 400);
    stuck.catch(() => {});
    // The message was posted in the previous turn, so the thread is running it now.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const unsent = store.call("add", "never sent");
    await expect(stuck).rejects.toMatchObject({
      code: "call_timeout",
      details: { timeout_ms: 100, outcome: "unknown" },
    });
    await expect(unsent).rejects.toMatchObject({ code: "call_timeout", details: { outcome: "not_written" } });
    await store.close();
  });

  it("finishes what was asked for before it closes, and takes nothing afterwards", async () => {
    const file = freshFile();
    const store = await open({ file });
    const call = store.call("add", "last");
    const closed = store.close();
    await expect(store.call("add", "too late")).rejects.toMatchObject({ code: "draining" });
    expect(await call).toBe(1);
    await closed;
    await store.close();
    const again = await open({ file });
    expect(await again.call("texts", null)).toEqual(["last"]);
    await again.close();
  });

  it("does not open a file that it cannot use, and says why", async () => {
    await expect(open({ file: join(root, "missing", "x.db") })).rejects.toThrow(/missing\/x\.db cannot be opened/);
  });

  it("does not open with procedures that fail to load", async () => {
    await expect(open({ procedures: new URL("file:///nowhere.js") })).rejects.toThrow(
      /ended while it opened: Cannot find module/,
    );
  });
});

describe("the time of a store", () => {
  it.each(["after a stop", "after a crash"])("is known %s, also when only the wall clock was set", async (how) => {
    const file = freshFile();
    const clock = manualClock();
    const start = clock.now();
    const before = await open({ file, clock, timeoutClock: systemClock });
    await before.call("add", "a");
    clock.jumpTo(start + 365 * 24 * 3_600_000);
    expect(before.skewMs()).toBe(365 * 24 * 3_600_000);
    // Earlier requests are stored when this one is answered, also that of the time.
    await before.call("texts", null);
    let copy = file;
    if (how === "after a crash") {
      copy = freshFile();
      for (const part of ["", "-wal"]) copyFileSync(`${file}${part}`, `${copy}${part}`);
    }
    await before.close();
    const after = await open({ file: copy, clock: manualClock(clock.now() + 1_000), timeoutClock: systemClock });
    expect(after.skewMs()).toBe(365 * 24 * 3_600_000);
    await after.close();
  });
});
