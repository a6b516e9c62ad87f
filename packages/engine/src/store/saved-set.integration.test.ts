import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { createLogger, type LogRecord, silentLogger } from "../kernel/logger.ts";
import { manualClock } from "../testing/manual-clock.ts";
import { SavedSet } from "./saved-set.ts";

const root = mkdtempSync(join(tmpdir(), "svc-saved-set-"));
const opened: SavedSet[] = [];
afterAll(async () => {
  // A set that still writes would add a file to the folder while it is removed.
  await Promise.all(opened.map((saved) => saved.close()));
  rmSync(root, { recursive: true, force: true });
});

const open = (name: string): SavedSet => {
  const saved = new SavedSet({ file: join(root, name), what: "the list", clock: systemClock, log: silentLogger });
  opened.push(saved);
  return saved;
};

it("a saved set has its entries again after a restart, however many they are", async () => {
  for (const count of [1, 499, 500, 501, 1_700]) {
    const name = `${count}.json`;
    const entries = Array.from({ length: count }, (_, index) => `entry "${index}" é`);
    const saved = open(name);
    for (const entry of entries) saved.add(entry);
    await saved.close();
    expect(JSON.parse(readFileSync(join(root, name), "utf8"))).toEqual({ version: 1, entries });
    expect(await open(name).load()).toEqual(entries);
  }
});

it("a saved set is empty after a restart when all entries were removed", async () => {
  const saved = open("removed.json");
  saved.add("a");
  await saved.close();
  const again = open("removed.json");
  expect(await again.load()).toEqual(["a"]);
  again.remove("a");
  await again.close();
  expect(await open("removed.json").load()).toEqual([]);
});

it("a saved set saves what is added and removed while it is saved", async () => {
  const saved = open("meanwhile.json");
  for (let index = 0; index < 3_000; index++) saved.add(`first ${index}`);
  // The save starts in the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  for (let index = 0; index < 3_000; index++) {
    if (index % 2 === 0) saved.remove(`first ${index}`);
    saved.add(`second ${index}`);
    if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await saved.close();
  expect(await open("meanwhile.json").load()).toEqual([...saved.entries]);
});

it("an entry that is added again is the newest", () => {
  const saved = open("newest.json");
  for (const entry of ["a", "b", "a"]) saved.add(entry);
  expect([...saved.entries]).toEqual(["b", "a"]);
});

it("a file that cannot be read is renamed and kept, and the set has a problem until that file is removed", async () => {
  const name = "damaged.json";
  const aside = (): string[] => readdirSync(root).filter((each) => each.startsWith(`${name}.damaged-`));
  writeFileSync(join(root, name), '{"version":1,"entr');
  const damaged = open(name);
  expect(await damaged.load()).toEqual([]);
  expect(aside()).toHaveLength(1);
  const file = join(root, String(aside()[0]));
  expect(damaged.problem).toBe(
    `the list of an earlier run cannot be read: repair ${file} and save it as ${name}, or delete it, and restart the engine`,
  );
  damaged.add("a");
  await damaged.close();
  expect(readFileSync(file, "utf8")).toBe('{"version":1,"entr');

  const restarted = open(name);
  expect(await restarted.load()).toEqual(["a"]);
  expect(restarted.problem).toBe(damaged.problem);
  rmSync(file);
  const repaired = open(name);
  expect([await repaired.load(), repaired.problem]).toEqual([["a"], undefined]);
});

it("a file with an entry that cannot be read is damaged: all of its entries are unknown, and the log names the broken one", async () => {
  const lines: LogRecord[] = [];
  const log = createLogger({ level: "debug", now: () => 0, write: (record) => lines.push(record) });
  writeFileSync(join(root, "entry.json"), JSON.stringify({ version: 1, entries: ["good a", "bad b"] }));
  writeFileSync(
    join(root, "entry.json.changes"),
    `\n${JSON.stringify(["add", "good c"])}\n${JSON.stringify(["add", "bad d"])}`,
  );
  const isEntry = (text: string): boolean => text.startsWith("good ");
  const saved = new SavedSet({ file: join(root, "entry.json"), what: "the list", isEntry, clock: systemClock, log });
  expect(await saved.load()).toEqual(["good c"]);
  await saved.close();
  expect(saved.problem).toContain(join(root, "entry.json.damaged-"));
  expect(lines.find(({ level }) => level === "error")).toMatchObject({
    message: "the list of an earlier run cannot be read; repair or delete the file and restart the engine",
    fields: {
      file: expect.stringContaining("entry.json.damaged-"),
      error: { message: 'the file has an entry that cannot be read: "bad b"' },
    },
  });
});

it("a change outlives a process that is killed directly after it", async () => {
  const file = join(root, "killed.json");
  await open("killed.json").close();
  writeFileSync(file, '{"version":1,"entries":["a","b"]}');
  const script = `
    import { SavedSet } from ${JSON.stringify(new URL("../../dist/store/saved-set.js", import.meta.url).href)};
    const clock = { now: Date.now, after: () => () => {} };
    const saved = new SavedSet({ file: ${JSON.stringify(file)}, what: "the list", clock, log: console });
    await saved.load();
    saved.add("c");
    saved.remove("a");
    process.kill(process.pid, "SIGKILL");
  `;
  expect(() =>
    execFileSync(process.execPath, ["--input-type=module", "--eval", script], { stdio: "inherit" }),
  ).toThrow();
  const saved = open("killed.json");
  expect(await saved.load()).toEqual(["b", "c"]);
  await saved.close();
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ version: 1, entries: ["b", "c"] });
  expect(existsSync(`${file}.changes`)).toBe(false);
});

it("changes that a power cut left unreadable are passed over, those before them count", async () => {
  writeFileSync(join(root, "cut.json"), '{"version":1,"entries":["a"]}');
  writeFileSync(join(root, "cut.json.changes"), '["add","b"]\n["remove","a"]\n');
  appendFileSync(join(root, "cut.json.changes"), Buffer.alloc(40));
  const saved = open("cut.json");
  expect([await saved.load(), saved.problem]).toEqual([["b"], undefined]);
  await saved.close();
  expect(await open("cut.json").load()).toEqual(["b"]);
});

it("a saved set does not create its folder, reports that it cannot be saved, and saves when the folder is back", async () => {
  const folder = join(root, "data");
  mkdirSync(folder);
  const clock = manualClock();
  const saved = new SavedSet({ file: join(folder, "moved.json"), what: "the list", clock, log: silentLogger });
  const turns = async (done: () => boolean): Promise<void> => {
    while (!done()) await new Promise((resolve) => setImmediate(resolve));
  };
  saved.add("a");
  await turns(() => existsSync(join(folder, "moved.json")) && !existsSync(join(folder, "moved.json.changes")));
  renameSync(folder, `${folder}-away`);
  saved.add("b");
  expect(saved.failure).toContain("the list cannot be saved at present");
  await turns(() => clock.pendingTimers > 0);
  expect(existsSync(folder)).toBe(false);
  renameSync(`${folder}-away`, folder);
  clock.advance(5_000);
  await turns(() => saved.failure === undefined);
  expect(JSON.parse(readFileSync(join(folder, "moved.json"), "utf8"))).toEqual({ version: 1, entries: ["a", "b"] });
  await saved.close();
});

it("a saved set keeps the changes after one that a full disk cut off", async () => {
  const file = join(root, "cut.json");
  const saved = open("cut.json");
  saved.add("first");
  await saved.close();
  writeFileSync(`${file}.changes`, `\n["add","second"]\n["add","cut o\n["add","third"]`);
  expect(await open("cut.json").load()).toEqual(["first", "second", "third"]);
});
