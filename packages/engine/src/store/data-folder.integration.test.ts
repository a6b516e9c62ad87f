import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, it } from "vitest";
import { lockDataFolder } from "./data-folder.ts";

const root = mkdtempSync(join(tmpdir(), "svc-lock-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Starts a process that holds the lock of `folder` until it is killed. */
async function holder(folder: string) {
  const program = `import { lockDataFolder } from ${JSON.stringify(new URL("./data-folder.js", import.meta.url).href)};
    lockDataFolder(process.argv[1]); process.stdout.write("held\\n"); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(createInterface({ input: child.stdout }), "line");
  return child;
}

describe("the lock of a data folder", () => {
  it("makes the folder, and is free again after its release", () => {
    const folder = join(root, "a", "b");
    const first = lockDataFolder(folder);
    expect(existsSync(folder)).toBe(true);
    expect(() => lockDataFolder(folder)).toThrow(/in use/);
    first.release();
    first.release();
    lockDataFolder(folder).release();
  });

  it("names the process that holds it, and is released when that is killed with -9", async () => {
    const folder = join(root, "c");
    const child = await holder(folder);
    expect(() => lockDataFolder(folder)).toThrow(
      new RegExp(
        `the data folder ${folder} is in use by another engine \\(pid ${child.pid}, started 20.+Z\\); stop that engine, or set another data_dir for this one`,
      ),
    );
    child.kill("SIGKILL");
    await once(child, "exit");
    const left = join(folder, ".engine.json.00000000-0000-4000-8000-000000000000.tmp");
    writeFileSync(left, "half");
    lockDataFolder(folder).release();
    expect(existsSync(left)).toBe(false);
  });

  it("writes its engine's addresses to engine.json, for this user only, until its release", () => {
    const folder = join(root, "d");
    const file = join(folder, "engine.json");
    const lock = lockDataFolder(folder);
    lock.announce({ bridge: "ws://localhost:1", http: "http://localhost:2", realtime: "ws://localhost:3" });
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
      pid: process.pid,
      started_at: expect.stringMatching(/^20.+Z$/),
      bridge: "ws://localhost:1",
      http: "http://localhost:2",
      realtime: "ws://localhost:3",
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    lock.release();
    lock.announce({ bridge: "ws://localhost:1", http: "http://localhost:2", realtime: "ws://localhost:3" });
    expect(readdirSync(folder)).toEqual(["engine.lock"]);
  });

  it("says which folder cannot be used, and why", () => {
    const file = join(root, "a-file");
    writeFileSync(file, "");
    expect(() => lockDataFolder(join(file, "data"))).toThrow(
      /the data folder .*a-file\/data cannot be used: .*a-file is a file, not a folder/,
    );
  });
});
