import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../kernel/clock.ts";
import { startProcessGroup } from "../../../local-workers/process-group.ts";
import { manualClock } from "../../../testing/index.ts";
import { LogFile } from "./log-file.ts";

let folder: string;
const problems: Error[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-log-"));
  problems.length = 0;
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function logFile(options: { readonly maxFileBytes?: number; readonly file?: string } = {}): LogFile {
  return new LogFile({
    file: options.file ?? join(folder, "w.log"),
    clock: manualClock(),
    onProblem: (error) => problems.push(error),
    ...(options.maxFileBytes === undefined ? {} : { maxFileBytes: options.maxFileBytes }),
  });
}

describe("a worker's log file", () => {
  it("holds each line with its time and stream, and the last ones in memory", async () => {
    const log = logFile();
    const stream = new PassThrough();
    log.capture("out", stream);
    stream.write("hel");
    stream.write("lo\r\nwörld\nrest");
    stream.end();
    await new Promise((resolve) => stream.once("close", resolve));
    await log.close();
    expect(await readFile(log.file, "utf8")).toBe(
      "2026-01-01T00:00:00.000Z out hello\n2026-01-01T00:00:00.000Z out wörld\n2026-01-01T00:00:00.000Z out rest\n",
    );
    expect(log.tail(2)).toEqual(["wörld", "rest"]);
  });

  it("is for its owner only", async () => {
    const log = logFile();
    log.line("out", "x");
    await log.close();
    expect((await stat(log.file)).mode & 0o777).toBe(0o600);
  });

  it("rotates and keeps three files", async () => {
    const log = logFile({ maxFileBytes: 100 });
    for (let line = 0; line < 8; line++) {
      log.line("out", `line ${line} ${"x".repeat(30)}`);
      await log.flush();
    }
    await log.close();
    expect((await readdir(folder)).sort()).toEqual(["w.log", "w.log.1", "w.log.2"]);
    expect(await readFile(join(folder, "w.log"), "utf8")).toContain("line 7");
  });

  it("goes on in a file that is there", async () => {
    await writeFile(join(folder, "w.log"), "before\n");
    const log = logFile();
    log.line("out", "after");
    await log.close();
    expect(await readFile(log.file, "utf8")).toMatch(/^before\n.* out after\n$/);
  });

  it("cuts a line at 64 KiB and goes on with the next", async () => {
    const log = logFile();
    const stream = new PassThrough();
    log.capture("out", stream);
    stream.write("x".repeat(200_000));
    stream.end(`${"x".repeat(200_000)}\nnext\n`);
    await new Promise((resolve) => stream.once("close", resolve));
    await log.close();
    const lines = (await readFile(log.file, "utf8")).trim().split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[0]?.length).toBeLessThan(65_700);
    expect(lines[0]).toContain("…[cut]");
    expect(lines[1]).toContain("out next");
  });

  it("drops and counts what comes faster than the disk takes it", async () => {
    const log = logFile();
    for (let line = 0; line < 5_000; line++) log.line("out", "y".repeat(1_000));
    await log.close();
    const text = await readFile(log.file, "utf8");
    expect(text.length).toBeLessThan(1_200_000);
    expect(text).toMatch(/svc \d+ lines were dropped here/);
  });

  it("tells once that it cannot be written and takes part again when it can", async () => {
    await writeFile(join(folder, "blocked"), "");
    const log = logFile({ file: join(folder, "blocked", "w.log") });
    for (const line of ["one", "two"]) {
      log.line("out", line);
      await log.flush();
    }
    expect(problems).toHaveLength(1);
    await rm(join(folder, "blocked"));
    log.line("out", "three");
    await log.close();
    expect(await readFile(log.file, "utf8")).toContain("out three");
  });

  it("stops reading a process whose lines take more than their share of time, however few bytes they have, and goes on later", async () => {
    const clock = manualClock();
    let workMs = 0;
    // The clock advances 6 ms on each read, as on a machine where handling output is slow.
    const busy = {
      ...clock,
      monotonic() {
        workMs += 6;
        return clock.monotonic() + workMs;
      },
    };
    const log = new LogFile({ file: join(folder, "w.log"), clock: busy, onProblem: (error) => problems.push(error) });
    const stream = new PassThrough();
    log.capture("out", stream);
    for (let piece = 0; piece < 4; piece++) stream.emit("data", Buffer.from("y\n"));
    expect(stream.isPaused()).toBe(true);
    clock.advance(100);
    expect(stream.isPaused()).toBe(false);
    await log.close();
  });

  it("leaves the engine room to work while a process writes without end", async () => {
    const log = new LogFile({
      file: join(folder, "w.log"),
      clock: systemClock,
      onProblem: (error) => problems.push(error),
    });
    const group = startProcessGroup({
      command: "yes",
      cwd: folder,
      env: { PATH: process.env.PATH ?? "" },
      capture({ stdout, stderr }) {
        log.capture("out", stdout);
        log.capture("err", stderr);
      },
    });
    let turns = 0;
    // A loop that only handles log lines would never reach these turns. Their speed depends on the machine.
    const giveUpAt = performance.now() + 20_000;
    while (turns < 200 && performance.now() < giveUpAt) {
      await new Promise((resolve) => setImmediate(resolve));
      turns++;
    }
    await group.stop({ graceMs: 1_000 });
    await log.close();
    expect(turns).toBe(200);
    const sizes = await Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(10 * 1024 * 1024);
  });
});
