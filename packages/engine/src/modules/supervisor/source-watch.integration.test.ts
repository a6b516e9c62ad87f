import { mkdir, mkdtemp, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { SourceWatch } from "./source-watch.ts";
import { ignoreRule, pathRule } from "./watch-ignore.ts";

let folder: string;
let watch: SourceWatch | undefined;
const told: string[][] = [];
const problems: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-watch-"));
  told.length = 0;
  problems.length = 0;
});

afterEach(async () => {
  await watch?.close();
  watch = undefined;
  await rm(folder, { recursive: true, force: true });
});

async function begin(ignore: readonly string[] = []): Promise<SourceWatch> {
  watch = new SourceWatch({ folder, ignore, clock: systemClock, onChange: (paths) => told.push([...paths]), onProblem: (message) => problems.push(message) });
  await watch.rebase();
  return watch;
}

/** Changes one more file and waits until that is told, so that everything before it has been told too. */
async function toldUpTo(marker: string): Promise<string[]> {
  await writeFile(join(folder, marker), "marker");
  await vi.waitUntil(() => told.some((paths) => paths.includes(marker)), { timeout: 8_000, interval: 20 });
  return told.flat().filter((path) => path !== marker);
}

describe("watching sources", () => {
  it("tells changed, new and removed files by their paths", async () => {
    await mkdir(join(folder, "src"));
    await writeFile(join(folder, "src", "a.py"), "1");
    await writeFile(join(folder, "old.py"), "1");
    await begin();
    await writeFile(join(folder, "src", "a.py"), "2");
    await writeFile(join(folder, "src", "b.py"), "1");
    await rm(join(folder, "old.py"));
    expect((await toldUpTo("marker.py")).sort()).toEqual(["old.py", "src/a.py", "src/b.py"]);
  });

  it("does not tell a touch, nor a save of the same text by renaming", async () => {
    await writeFile(join(folder, "a.py"), "same");
    await begin();
    await utimes(join(folder, "a.py"), new Date(), new Date());
    await writeFile(join(folder, "draft.tmp"), "same");
    await rename(join(folder, "draft.tmp"), join(folder, "a.py"));
    expect(await toldUpTo("marker.py")).toEqual([]);
  });

  it("leaves out what tools make and what the manifest says", async () => {
    for (const name of ["node_modules", "__pycache__", "data"]) await mkdir(join(folder, name));
    await begin(["data", "*.csv", "src/made"]);
    for (const name of ["node_modules/x.js", "__pycache__/x.pyc", "data/x.txt", "x.csv", "worker.log"]) await writeFile(join(folder, name), "1");
    expect(await toldUpTo("marker.py")).toEqual([]);
  });

  it("forgets what happened before a rebase and tells differences on demand", async () => {
    const source = await begin();
    await writeFile(join(folder, "a.py"), "1");
    await source.rebase();
    await writeFile(join(folder, "b.py"), "1");
    await source.compare();
    expect(told).toEqual([["b.py"]]);
    expect(await toldUpTo("marker.py")).toEqual(["b.py"]);
  });

  it("gives a file up that never comes to rest", async () => {
    const source = await begin();
    for (let change = 0; change < 25; change++) {
      await writeFile(join(folder, "busy.txt"), String(change));
      await source.compare();
    }
    expect(told).toHaveLength(20);
    expect(problems).toEqual([expect.stringContaining("busy.txt changed more than 20 times")]);
  });
});

describe("the ignore rule", () => {
  it("takes names at any depth and paths from the folder on", () => {
    const ignored = ignoreRule(["*.csv", "src/made/", "./a*c/b"]);
    expect(["x/y.csv", "src/made", "src/made/x.ts", "abc/b", "ac/b/x", "deep/node_modules/x", "pkg.egg-info/x"].filter((path) => !ignored(path))).toEqual([]);
    expect(["y.csvx", "x/src/made", "ab/b", "src/mad", "distant.py", "requirements.txt", "svc.worker.yaml", ".env"].filter(ignored)).toEqual([]);
  });

  it("is not slowed down by any pattern", () => {
    const startedAt = performance.now();
    expect(ignoreRule([`${"*a".repeat(50)}b`])("a".repeat(2_000))).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(200);
  });
});

describe("what is watched", () => {
  it("is what a pattern includes, at any depth or by a path with **", () => {
    const rule = pathRule(["src/**/*.ts", "*.py", "conf/app"]);
    for (const path of ["src/a.ts", "src/b/c/d.ts", "deep/down/x.py", "conf/app/any/thing"]) expect([path, rule(path)]).toEqual([path, true]);
    for (const path of ["src/a.js", "lib/src/a.ts", "conf/other"]) expect([path, rule(path)]).toEqual([path, false]);
  });

  it("may be what tools make, when it is included by name", () => {
    expect(ignoreRule([])("dist/a.js")).toBe(true);
    expect(ignoreRule([], ["dist/**/*.js"])("dist/a.js")).toBe(false);
    expect(ignoreRule([], ["dist/**/*.js"])("node_modules/a.js")).toBe(true);
  });
});
