import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Clock, systemClock } from "../../../kernel/clock.ts";
import { FileWatch } from "./file-watch.ts";

/** Uses a tenth of the debounce time. */
const hurried: Clock = { ...systemClock, after: (ms, action) => systemClock.after(ms / 10, action) };

let folder: string;
let watch: FileWatch | undefined;
const reported: string[] = [];
const problems: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-file-watch-"));
  reported.length = 0;
  problems.length = 0;
});

afterEach(async () => {
  await watch?.close();
  expect(problems).toEqual([]);
  await rm(folder, { recursive: true, force: true });
});

async function begin(files: readonly string[]): Promise<void> {
  const onChange = (names: readonly string[]): unknown => reported.push(...names);
  watch = new FileWatch({
    files: files.map((file) => join(folder, file)),
    clock: hurried,
    onChange,
    onProblem: (message) => problems.push(message),
  });
  await watch.ready;
}

async function save(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

/** Waits until all these names have been reported since the last call, and returns those that have not after 8 s. */
async function missing(names: readonly string[]): Promise<string[]> {
  const left = (): string[] => names.filter((name) => !reported.includes(name));
  await vi.waitUntil(() => left().length === 0, { timeout: 8_000, interval: 20 }).catch(() => {});
  const never = left();
  reported.length = 0;
  return never;
}

const NAMES = Array.from({ length: 50 }, (_, index) => `${index}.env`);

describe("a file outside of a worker's folder is reported", () => {
  it("when it is created with its folders, removed with them, and created again", async () => {
    const files = NAMES.map((name, index) => `${index}/deep/${name}`);
    await begin(files);
    for (const step of ["1", "2"]) {
      for (const [index, file] of files.entries()) {
        await mkdir(join(folder, dirname(file)), { recursive: true });
        for (let turn = 0; turn < index; turn++) await setImmediate();
        await writeFile(join(folder, file), step);
      }
      expect(await missing(NAMES)).toEqual([]);
      for (const index of NAMES.keys()) await rm(join(folder, String(index)), { recursive: true });
      expect(await missing(NAMES)).toEqual([]);
    }
  });

  it("when it is replaced, however often", async () => {
    for (const name of NAMES) await save(name, "old");
    await begin(NAMES);
    for (const text of ["1", "2", "3"]) {
      for (const name of NAMES) {
        await save("draft", text);
        await rename(join(folder, "draft"), join(folder, name));
      }
      expect(await missing(NAMES)).toEqual([]);
    }
  });

  it("when a link leads elsewhere, also one on the way to it", async () => {
    await save("r1/a.env", "1");
    await save("r2/a.env", "2");
    await symlink("r1", join(folder, "current"));
    await begin(["current/a.env"]);
    await save("r1/a.env", "3");
    expect(await missing(["a.env"])).toEqual([]);
    await symlink("r2", join(folder, "next"));
    await rename(join(folder, "next"), join(folder, "current"));
    expect(await missing(["a.env"])).toEqual([]);
    await save("r2/a.env", "4");
    expect(await missing(["a.env"])).toEqual([]);
  });
});

it("a file is not reported for a save of the same text, nor after the watch is closed", async () => {
  for (const name of ["a.env", "b.env"]) await save(name, "1");
  await begin(["a.env", "b.env"]);
  await save("a.env", "1");
  await save("b.env", "2");
  await vi.waitUntil(() => reported.length > 0);
  expect(reported).toEqual(["b.env"]);
  await watch?.close();
  const other = watch;
  await begin(["a.env"]);
  await save("a.env", "2");
  await vi.waitUntil(() => reported.length > 1);
  await other?.close();
  expect(reported).toEqual(["b.env", "a.env"]);
});
