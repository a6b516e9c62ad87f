import { appendFile, mkdir, mkdtemp, readdir, readlink, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lastLines, linesAfter, parseLine } from "./log-lines.ts";

const EVERYTHING = { sinceMs: undefined, stream: undefined };

let folder: string;
let files: readonly [string, string, string];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-lines-"));
  files = [join(folder, "w.log.2"), join(folder, "w.log.1"), join(folder, "w.log")];
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Returns the lines `first` to `last`, one second apart. */
function numbered(first: number, last: number, stream = "out"): string {
  return Array.from(
    { length: last - first + 1 },
    (_, index) => `${timeOf(first + index)} ${stream} line ${first + index}\n`,
  ).join("");
}

function timeOf(second: number): string {
  return new Date(1_000 * second).toISOString();
}

const textsOf = ({ lines }: { readonly lines: readonly { readonly text: string }[] }): readonly string[] =>
  lines.map(({ text }) => text);

describe("a line of the log", () => {
  it("is taken apart, and what is none is left out", () => {
    expect(parseLine("2026-01-01T00:00:00.000Z err#3 a  b ")).toEqual({
      time: "2026-01-01T00:00:00.000Z",
      stream: "err",
      replica: 3,
      text: "a  b ",
    });
    expect(parseLine("2026-01-01T00:00:00.000Z svc stopped")).toMatchObject({ stream: "svc", replica: null });
    expect(parseLine("half of a li")).toBeUndefined();
  });
});

describe("the last lines", () => {
  it("reach back over the files", async () => {
    await writeFile(files[1], numbered(1, 5));
    await writeFile(files[2], numbered(6, 8));
    expect(textsOf(await lastLines(files, { count: 5, filter: EVERYTHING }))).toEqual([
      "line 4",
      "line 5",
      "line 6",
      "line 7",
      "line 8",
    ]);
  });

  it("are right where chunks cut through lines and characters", async () => {
    const wide = "ü".repeat(40_000);
    await writeFile(files[2], `${timeOf(1)} out a${wide}\n${timeOf(2)} out b${wide}\n${timeOf(3)} out c\n`);
    expect(textsOf(await lastLines(files, { count: 9, filter: EVERYTHING }))).toEqual([`a${wide}`, `b${wide}`, "c"]);
  });

  it("can be of one stream, and not older than a time", async () => {
    await writeFile(files[2], `${numbered(1, 3)}${numbered(4, 5, "err")}${numbered(6, 7)}`);
    expect(textsOf(await lastLines(files, { count: 9, filter: { stream: "err", sinceMs: undefined } }))).toEqual([
      "line 4",
      "line 5",
    ]);
    expect(textsOf(await lastLines(files, { count: 9, filter: { stream: undefined, sinceMs: 5_000 } }))).toEqual([
      "line 5",
      "line 6",
      "line 7",
    ]);
  });

  it("close every file that was opened when one of them cannot be read", async () => {
    await writeFile(files[1], numbered(1, 5));
    await mkdir(files[2]);
    await expect(lastLines(files, { count: 5, filter: EVERYTHING })).rejects.toMatchObject({ code: "EISDIR" });
    const descriptors = await readdir("/proc/self/fd");
    const open = await Promise.all(
      descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => "")),
    );
    expect(open.filter((file) => file.startsWith(folder))).toEqual([]);
  });

  it("are none where there is no file", async () => {
    expect(await lastLines(files, { count: 9, filter: EVERYTHING })).toMatchObject({ lines: [] });
  });

  it("do not hold a line that is still being written", async () => {
    await writeFile(files[2], `${numbered(1, 2)}${timeOf(3)} out hal`);
    const { lines, cursor } = await lastLines(files, { count: 9, filter: EVERYTHING });
    expect(textsOf({ lines })).toEqual(["line 1", "line 2"]);
    await appendFile(files[2], "f\n");
    expect(textsOf(await linesAfter(files, { cursor, count: 9, filter: EVERYTHING }))).toEqual(["half"]);
  });
});

describe("the lines behind a cursor", () => {
  it("go on where the answer before ended, also when the file was rotated meanwhile", async () => {
    await writeFile(files[2], numbered(1, 3));
    const first = await lastLines(files, { count: 9, filter: EVERYTHING });
    await appendFile(files[2], numbered(4, 4));
    await rename(files[2], files[1]);
    await writeFile(files[2], numbered(5, 6));
    const next = await linesAfter(files, { cursor: first.cursor, count: 2, filter: EVERYTHING });
    expect(textsOf(next)).toEqual(["line 4", "line 5"]);
    const last = await linesAfter(files, { cursor: next.cursor, count: 2, filter: EVERYTHING });
    expect(textsOf(last)).toEqual(["line 6"]);
    expect(await linesAfter(files, { cursor: last.cursor, count: 2, filter: EVERYTHING })).toEqual({
      lines: [],
      cursor: last.cursor,
      hasGap: false,
    });
  });

  it("begin with the oldest that is left when its file is gone, and tell the gap", async () => {
    await writeFile(files[2], numbered(1, 2));
    const read = await linesAfter(files, { cursor: "1.abc-999", count: 9, filter: EVERYTHING });
    expect(textsOf(read)).toEqual(["line 1", "line 2"]);
    expect(read.hasGap).toBe(true);
    expect(await linesAfter(files, { cursor: read.cursor, count: 9, filter: EVERYTHING })).toMatchObject({
      lines: [],
      hasGap: false,
    });
  });

  it("do not go on in a later file that was given the inode of the former one", async () => {
    await writeFile(files[2], numbered(1, 2));
    const { cursor } = await lastLines(files, { count: 9, filter: EVERYTHING });
    await writeFile(files[2], numbered(3, 9));
    const read = await linesAfter(files, { cursor, count: 9, filter: EVERYTHING });
    expect(textsOf(read).at(0)).toBe("line 3");
    expect(read.hasGap).toBe(true);
  });

  it("begin without a gap where there was no file yet", async () => {
    const { cursor } = await lastLines(files, { count: 9, filter: EVERYTHING });
    await writeFile(files[2], numbered(1, 2));
    const read = await linesAfter(files, { cursor, count: 9, filter: EVERYTHING });
    expect(textsOf(read)).toEqual(["line 1", "line 2"]);
    expect(read.hasGap).toBe(false);
  });

  it("are refused for a cursor of another making", async () => {
    await expect(linesAfter(files, { cursor: "later", count: 9, filter: EVERYTHING })).rejects.toMatchObject({
      code: "invalid_input",
    });
  });
});
