import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { defaultDriver, openDatabase } from "./driver.ts";
import type { ProceduresModule } from "./procedures.ts";
import { Session } from "./session.ts";
import * as ledger from "./testing/ledger-procedures.ts";
import type { Answer } from "./thread-messages.ts";
import { readWal } from "./wal-file.ts";

const root = mkdtempSync(join(tmpdir(), "svc-session-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let files = 0;
function freshFile(): string {
  files += 1;
  return join(root, `${files}.db`);
}

function open(file: string, module: ProceduresModule = ledger): Session {
  return new Session(file, module, defaultDriver());
}

const TIME = { now: 1, wall: 1 };

type Step = readonly [procedure: string, input: unknown];

function run(session: Session, ...steps: Step[]): Answer[] {
  return session.run(
    steps.map(([procedure, input]) => ({ procedure, input })),
    TIME,
  );
}

const texts: Step = ["texts", null];
const done = (output: unknown): Answer => ({ status: "done", output });

describe("a batch of requests", () => {
  it("runs in order, and reads see the writes before them", () => {
    const session = open(freshFile());
    expect(run(session, texts, ["add", "a"], texts, ["add", "b"], texts)).toEqual([
      done([]),
      done(1),
      done(["a"]),
      done(1),
      done(["a", "b"]),
    ]);
    session.close(TIME);
  });

  it("ends early when the answers grow large, and has then done what it answered and begun nothing else", () => {
    const session = open(freshFile());
    run(session, ["add", "x".repeat(20 * 1024 * 1024)]);
    expect(run(session, texts, texts, texts)).toHaveLength(2);
    expect(run(session, ["add", "a"], texts, texts, ["add", "b"], texts)).toHaveLength(3);
    expect(run(session, ["addThenRefuse", "c"], texts, texts, ["add", "d"]).map(({ status }) => status)).toEqual([
      "refused",
      "done",
      "done",
    ]);
    expect(
      run(session, texts).flatMap((answer) =>
        answer.status === "done" ? (answer.output as string[]).map((text) => text.length) : [],
      ),
    ).toEqual([20 * 1024 * 1024, 1]);
    session.close(TIME);
  });

  it("loses nothing but the requests that fail", () => {
    const session = open(freshFile());
    const answers = run(
      session,
      ["add", "a"],
      ["addThenRefuse", "b"],
      ["add", "a"],
      ["addThenThrow", "c"],
      ["nonsense", null],
      ["toString", null],
      ["add", "d"],
      texts,
    );
    expect(answers).toEqual([
      done(1),
      { status: "refused", code: "state_conflict", message: "b is not wanted", details: { text: "b" } },
      { status: "failed", message: "add: UNIQUE constraint failed: lines.text" },
      { status: "failed", message: "addThenThrow: a defect" },
      { status: "failed", message: "the store has no procedure nonsense" },
      { status: "failed", message: "the store has no procedure toString" },
      done(1),
      done(["a", "d"]),
    ]);
    expect(session.problem).toBeUndefined();
    session.close(TIME);
  });

  it("flushes buffered changes before the commit, without those of failed requests", () => {
    const session = open(freshFile());
    run(session, ["addLater", "a"], ["addLater", "b"]);
    expect(run(session, texts)).toEqual([done(["a", "b"])]);
    run(session, ["addLater", "c"], ["addThenRefuse", "d"], ["addLater", "e"]);
    expect(run(session, texts)).toEqual([done(["a", "b", "c", "e"])]);
    expect(run(session, ["addLater", "f"], ["breakCommit", null], texts)).toMatchObject([
      { status: "failed" },
      { status: "failed" },
      { status: "done" },
    ]);
    run(session, ["add", "g"]);
    expect(run(session, texts)).toEqual([done(["a", "b", "c", "e", "g"])]);
    session.close(TIME);
  });

  it("fails as a whole when it cannot be committed, its reads excepted, and the next one works", () => {
    const session = open(freshFile());
    run(session, ["add", "before"]);
    const answers = run(session, ["add", "a"], ["breakCommit", null], texts);
    const failed = {
      status: "failed",
      message: expect.stringMatching(/cannot write .*FOREIGN KEY constraint failed \(during COMMIT\)/),
    };
    expect(answers).toEqual([failed, failed, done(["before"])]);
    expect(session.problem).toMatch(/cannot write/);
    expect(run(session, ["add", "b"], texts)).toEqual([done(1), done(["before", "b"])]);
    expect(session.problem).toBeUndefined();
    session.close(TIME);
  });

  it("fails as a whole when the disk is full, and reads go on", () => {
    const session = open(freshFile());
    const long = "x".repeat(100_000);
    const answers = run(session, ["fillDisk", null], ["add", "short"], ["add", long], texts);
    const failed = { status: "failed", message: expect.stringMatching(/cannot write .*full \(during add\)/) };
    expect(answers).toEqual([failed, failed, failed, done([])]);
    expect(run(session, texts)).toEqual([done([])]);
    expect(session.problem).toMatch(/full/);
    run(session, ["freeDisk", null]);
    session.probe();
    expect(session.problem).toBeUndefined();
    expect(run(session, ["add", long])).toEqual([done(1)]);
    session.close(TIME);
  });
});

describe("a session after a failed sync", () => {
  const failed = (reason: string, unclear: object = {}): Answer => ({
    status: "failed",
    message: expect.stringContaining(reason),
    ...unclear,
  });

  it.each(["durable", "relaxed"] as const)(
    "answers no write of a %s store as done before all of it is in a new file",
    (durability) => {
      const file = freshFile();
      const session = new Session(file, ledger, defaultDriver(), durability);
      run(session, ["add", "before"]);
      if (durability === "relaxed") session.noteUnsynced("EIO: i/o error, fdatasync");
      else
        expect(run(session, ["add", "lost"], ["breakDisk", null])).toEqual(
          Array(2).fill(failed("disk I/O error (during breakDisk)", { isUnclear: true })),
        );
      expect(run(session, ["add", "refused"], texts)).toEqual([failed("cannot sync"), done(["before"])]);
      session.probe();
      expect(session.isRenewed).toBe(true);
      // A power cut at this moment loses the whole log, because it was never synced.
      for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`);
      const next = open(file);
      expect(run(next, texts, ["add", "after"])).toEqual([done(["before"]), done(1)]);
      expect(readdirSync(root).filter((name) => name.startsWith(`${files}.db.`))).toEqual([]);
      next.close(TIME);
    },
  );

  it("renews the file at the next start, if it is killed before", () => {
    const file = freshFile();
    const session = open(file);
    run(session, ["add", "before"], ["breakDisk", null]);
    run(session, ["add", "kept"]);
    const next = open(file);
    expect(run(next, ["add", "a"])).toEqual([failed("a sync failed before the last stop")]);
    next.probe();
    expect(next.isRenewed).toBe(true);
  });

  it("does not renew from a log that the disk has lost meanwhile", () => {
    const file = freshFile();
    const session = open(file);
    run(session, ["add", "a"]);
    run(session, ["add", "b"]);
    run(session, ["breakDisk", null]);
    damage(`${file}-wal`, statSync(`${file}-wal`).size - 100);
    session.probe();
    expect(session.isRenewed).toBe(false);
    expect(session.problem).toMatch(/pages of its log can no longer be read; restart the engine/);
  });
});

describe("a session whose file is moved away", () => {
  it("acknowledges nothing until it is back", () => {
    const file = freshFile();
    const session = open(file);
    run(session, ["add", "a"]);
    renameSync(file, `${file}.moved`);
    expect(run(session, ["add", "b"], texts)).toEqual([
      {
        status: "failed",
        message: expect.stringMatching(/\.db was moved or removed while the engine used it; put it back/),
      },
      done(["a"]),
    ]);
    writeFileSync(file, "");
    session.checkPlace();
    expect(session.problem).toMatch(/was replaced by another file/);
    renameSync(`${file}.moved`, file);
    session.probe();
    expect(session.problem).toBeUndefined();
    expect(run(session, ["add", "b"], texts)).toEqual([done(1), done(["a", "b"])]);
    session.close(TIME);
  });

  it("says that a write into it is unclear", () => {
    const file = freshFile();
    const session = open(file, {
      ...ledger,
      openProcedures: (database, useBuffer) => ({
        ...ledger.openProcedures(database, useBuffer),
        moveAway: { kind: "write", run: () => renameSync(file, `${file}.moved`) },
      }),
    });
    expect(run(session, ["add", "a"], ["moveAway", null])).toMatchObject([
      { status: "failed", isUnclear: true },
      { status: "failed", isUnclear: true },
    ]);
  });
});

describe("a log that is damaged", () => {
  /** Creates a database like that of a killed process, with three commits in its log. */
  function killed(): string {
    const file = freshFile();
    const session = open(file);
    for (const text of ["a", "b", "c"]) run(session, ["add", text]);
    const copy = freshFile();
    copyFileSync(file, copy);
    copyFileSync(`${file}-wal`, `${copy}-wal`);
    session.close(TIME);
    return copy;
  }

  it("is named, and kept, when writes behind the damage are lost", () => {
    const file = killed();
    const whole = readWal(`${file}-wal`);
    damage(`${file}-wal`, 200);
    expect(readWal(`${file}-wal`)).toMatchObject({ readable: 0 });
    const session = open(file);
    expect(session.damage).toMatch(
      /-wal is damaged: the first 0 pages in it are used, at least \d+ later ones cannot be.*A copy of both files is kept as/,
    );
    expect(run(session, texts)).not.toEqual([done(["a", "b", "c"])]);
    const copies = readdirSync(root).filter((name) => name.startsWith(`${files}.db.damaged.`));
    expect(copies).toHaveLength(2);
    expect(whole).toMatchObject({ unreadable: 0 });
    session.close(TIME);
  });

  it("is also found when its header is damaged", () => {
    const file = killed();
    damage(`${file}-wal`, 17);
    const session = open(file);
    expect(session.damage).toMatch(/-wal is damaged/);
    session.close(TIME);
  });

  it("is not what a power cut leaves: a last transaction that is there in part", () => {
    const file = killed();
    damage(`${file}-wal`, statSync(`${file}-wal`).size - 100);
    const session = open(file);
    expect(session.damage).toBeUndefined();
    expect(run(session, texts)).toEqual([done(["a", "b"])]);
    session.close(TIME);
  });
});

describe("opening a database", () => {
  it("checks the file after an unclean stop and names what is damaged and what to do", () => {
    const file = damagedDatabase();
    writeFileSync(`${file}-wal`, "what a killed process left");
    expect(() => open(file)).toThrow(
      /the database .*\.db is damaged: .*(page|Page) \d+.*Nothing was changed.*sqlite3 .* \.recover/,
    );
  });

  it("does not check the file after a clean stop", () => {
    const session = open(damagedDatabase());
    session.close(TIME);
  });

  it("opens a sound file after an unclean stop", () => {
    const file = freshFile();
    const session = open(file);
    run(session, ["add", "a"]);
    const copy = freshFile();
    copyFileSync(file, copy);
    copyFileSync(`${file}-wal`, `${copy}-wal`);
    expect(statSync(`${copy}-wal`).size).toBeGreaterThan(0);
    const other = open(copy);
    expect(run(other, texts)).toEqual([done(["a"])]);
    other.close(TIME);
    session.close(TIME);
  });

  it("leaves an empty log or none when it is closed", () => {
    const file = freshFile();
    const session = open(file);
    run(session, ["add", "a"]);
    session.close(TIME);
    expect(statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
  });

  it("refuses a newer format, naming both versions", () => {
    const file = freshFile();
    open(file).close(TIME);
    expect(() => open(file, { ...ledger, schema: ledger.schema.slice(0, 1) })).toThrow(
      /has format version 2, this engine knows versions up to 1; start the newer engine/,
    );
  });

  it("brings an older format up to date and keeps a copy of the file as it was", () => {
    const file = freshFile();
    const older = open(file, { schema: ledger.schema.slice(0, 1), openProcedures: () => ({}) });
    older.close(TIME);
    const newer = open(file);
    expect(run(newer, ["add", "a"])).toEqual([done(1)]);
    newer.close(TIME);
    const copies = readdirSync(root).filter((name) => name.startsWith(`${files}.db.v1.`));
    expect(copies).toHaveLength(1);
    const copy = openDatabase(join(root, copies[0] ?? ""));
    expect(copy.prepare("PRAGMA user_version").get()).toMatchObject({ user_version: 1 });
    copy.close();
  });

  it("says that a folder is missing", () => {
    expect(() => open(join(root, "missing", "x.db"))).toThrow(
      /missing\/x\.db cannot be opened: the folder .*missing does not exist; its folder must exist/,
    );
  });
});

/** Flips one bit of a file. */
function damage(file: string, at: number): void {
  const content = readFileSync(file);
  content[at] = (content[at] ?? 0) ^ 1;
  writeFileSync(file, content);
}

/** Creates a cleanly closed database with an overwritten page in the middle. */
function damagedDatabase(): string {
  const file = freshFile();
  const session = open(file);
  for (let index = 0; index < 500; index++) run(session, ["add", `line ${index} `.repeat(20)]);
  session.close(TIME);
  const handle = openSync(file, "r+");
  writeSync(handle, Buffer.alloc(4096, 0xee), 0, 4096, 5 * 4096);
  closeSync(handle);
  return file;
}
