import { renameSync, writeFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Clock, systemClock } from "../../../kernel/clock.ts";
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

async function begin(ignore: readonly string[] = [], clock: Clock = systemClock): Promise<SourceWatch> {
  watch = new SourceWatch({
    folder,
    ignore,
    clock,
    onChange: (paths) => told.push([...paths]),
    onProblem: (message) => problems.push(message),
  });
  await watch.rebase();
  return watch;
}

/** Changes one more file and waits until it is reported, so that everything before it has been reported too. */
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
    for (const name of ["node_modules/x.js", "__pycache__/x.pyc", "data/x.txt", "x.csv", "worker.log"])
      await writeFile(join(folder, name), "1");
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

const ROUNDS = Array.from({ length: 200 }, (_, round) => round);

/** Lets the event loop turn, so that each round meets the watch at another point of its work. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await setImmediate();
}

async function save(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

/** Waits until all these paths have been reported since the last call, and returns those that have not after 8 s. */
async function missing(paths: readonly string[]): Promise<string[]> {
  const left = (): string[] => paths.filter((path) => !told.some((reported) => reported.includes(path)));
  await vi.waitUntil(() => left().length === 0, { timeout: 8_000, interval: 20 }).catch(() => {});
  const never = left();
  told.length = 0;
  return never;
}

/** Returns the result of comparing all files after all earlier changes were reported. */
async function unreported(source: SourceWatch): Promise<string[]> {
  await toldUpTo("last.py");
  told.length = 0;
  await source.compare();
  return told.flat();
}

/** Uses a tenth of the debounce time, so that scans run between the steps of a test. */
const hurried: Clock = { ...systemClock, after: (ms, action) => systemClock.after(ms / 10, action) };

describe("a save is reported", () => {
  it("however soon it follows the creation of its folder", async () => {
    const source = await begin([], hurried);
    for (const round of ROUNDS) {
      await mkdir(join(folder, `${round}/src/deep`), { recursive: true });
      await turns(round % 50);
      await writeFile(join(folder, `${round}/src/deep/a.md`), "1");
      await turns(round % 50);
      await writeFile(join(folder, `${round}/src/deep/a.ts`), "1");
    }
    expect(await missing(ROUNDS.map((round) => `${round}/src/deep/a.ts`))).toEqual([]);
    expect(await unreported(source)).toEqual([]);
  });

  it("in a folder that was removed and created again, and once more after that", async () => {
    const some = ROUNDS.slice(0, 60);
    for (const round of some) await save(`${round}/src/a.ts`, "old");
    const source = await begin([], hurried);
    for (const round of some) {
      await rm(join(folder, String(round)), { recursive: true });
      await turns(round % 50);
      await save(`${round}/src/a.ts`, "new");
    }
    expect(await missing(some.map((round) => `${round}/src/a.ts`))).toEqual([]);
    for (const round of some) await writeFile(join(folder, `${round}/src/a.ts`), "newer");
    expect(await missing(some.map((round) => `${round}/src/a.ts`))).toEqual([]);
    expect(await unreported(source)).toEqual([]);
  });

  it("in a folder that was moved, and in one that took its place", async () => {
    const some = ROUNDS.slice(0, 50);
    for (const round of some) for (const name of ["a", "b"]) await save(`${round}/${name}/src/file.ts`, name);
    const source = await begin([], hurried);
    for (const round of some) {
      await rename(join(folder, `${round}/a`), join(folder, `${round}/c`));
      await rename(join(folder, `${round}/b`), join(folder, `${round}/a`));
    }
    expect(
      await missing(some.flatMap((round) => ["a", "b", "c"].map((name) => `${round}/${name}/src/file.ts`))),
    ).toEqual([]);
    for (const round of some)
      for (const name of ["a", "c"]) await writeFile(join(folder, `${round}/${name}/src/file.ts`), "new");
    expect(await missing(some.flatMap((round) => ["a", "c"].map((name) => `${round}/${name}/src/file.ts`)))).toEqual(
      [],
    );
    expect(await unreported(source)).toEqual([]);
  });

  it("by renaming, as editors do it", async () => {
    for (const round of ROUNDS) await save(`src/${round}.ts`, "old");
    const source = await begin([], hurried);
    for (const round of ROUNDS) {
      await writeFile(join(folder, "src/draft.tmp"), "new");
      await rename(join(folder, "src/draft.tmp"), join(folder, `src/${round}.ts`));
      await turns(round % 10);
    }
    expect(await missing(ROUNDS.map((round) => `src/${round}.ts`))).toEqual([]);
    expect(await unreported(source)).toEqual([]);
  });

  it("twice, when a second one of the same size follows at once", async () => {
    // Without truncating the file first, which may be reported too.
    const inPlace = { flag: "r+" };
    for (const round of ROUNDS) await save(`${round}.ts`, "0");
    const source = await begin([], hurried);
    for (let first = 0; first < ROUNDS.length; first += 20) {
      const some = ROUNDS.slice(first, first + 20);
      for (const round of some) await writeFile(join(folder, `${round}.ts`), "1", inPlace);
      await source.compare();
      for (const round of some) await writeFile(join(folder, `${round}.ts`), "2", inPlace);
    }
    await toldUpTo("marker.py");
    expect(ROUNDS.filter((round) => told.flat().filter((path) => path === `${round}.ts`).length !== 2)).toEqual([]);
  });

  it("when the watched folder itself was removed, replaced or created", async () => {
    await rm(folder, { recursive: true });
    await begin([], hurried);
    await save("a.ts", "1");
    expect(await missing(["a.ts"])).toEqual([]);
    await rm(folder, { recursive: true });
    expect(await missing(["a.ts"])).toEqual([]);
    await save("src/a.ts", "1");
    expect(await missing(["src/a.ts"])).toEqual([]);
    for (const text of ["2", "3", "4"]) {
      await cp(folder, `${folder}.next`, { recursive: true });
      await rm(folder, { recursive: true });
      await rename(`${folder}.next`, folder);
      await save("src/a.ts", text);
      expect(await missing(["src/a.ts"])).toEqual([]);
      await rm(folder, { recursive: true });
      await save("src/a.ts", `${text}, again`);
      expect(await missing(["src/a.ts"])).toEqual([]);
    }
  });

  it("after more events than the system keeps", async () => {
    for (const path of ["loud/a.log", "src/deep/a.ts"]) await save(path, "1");
    await begin([], hurried);
    // In one turn of the event loop, so that no event is read meanwhile.
    for (let round = 0; round < 10_000; round++) {
      renameSync(join(folder, "loud/a.log"), join(folder, "loud/b.log"));
      renameSync(join(folder, "loud/b.log"), join(folder, "loud/a.log"));
    }
    writeFileSync(join(folder, "src/deep/a.ts"), "2");
    expect(await missing(["src/deep/a.ts"])).toEqual([]);
  });

  it("or taken for known when it comes during a rebase", async () => {
    const some = ROUNDS.slice(0, 40);
    for (const round of some) await save(`${round}/src/a.ts`, "old");
    const source = await begin([], hurried);
    for (let rebase = 0; rebase < 5; rebase++) {
      const rebased = source.rebase();
      for (const round of some) await writeFile(join(folder, `${round}/src/a.ts`), `new ${rebase}`);
      await rebased;
    }
    expect(await unreported(source)).toEqual([]);
  });

  it("whatever else happens to files and folders", async () => {
    const source = await begin([], hurried);
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((seed / 2 ** 31) * below);
    };
    const place = (): string => Array.from({ length: 1 + random(3) }, () => "abc"[random(3)]).join("/");
    for (let step = 0; step < 500; step++) {
      // Operations that fail now are skipped, e.g. a folder where a file is.
      const done = [
        () => save(`${place()}/${random(5)}.ts`, String(random(3))),
        () => save(`${place()}/${random(5)}.ts`, String(random(3))),
        () => mkdir(join(folder, place()), { recursive: true }),
        () => rename(join(folder, place()), join(folder, place())),
        () => rm(join(folder, place()), { recursive: true }),
        () => turns(random(20)),
      ][random(6)]?.();
      await done?.catch(() => {});
    }
    expect(await unreported(source)).toEqual([]);
    expect(problems).toEqual([]);
  });
});

describe("a watch of sources", () => {
  it("does not follow links, and reports one that leads elsewhere", async () => {
    await save("real/a.ts", "1");
    await symlink(join(folder, "real/a.ts"), join(folder, "link.ts"));
    await begin(["real"]);
    await writeFile(join(folder, "real/a.ts"), "2");
    await rm(join(folder, "link.ts"));
    await symlink(join(folder, "real"), join(folder, "link.ts"));
    expect(await toldUpTo("marker.py")).toEqual(["link.ts"]);
  });

  it("does not wait for files to rest that it leaves out", async () => {
    for (const path of ["a.log", "b.log", "data.json"]) await save(path, "1");
    let waits = 0;
    const after: Clock["after"] = (ms, action) => {
      waits += 1;
      return systemClock.after(ms, action);
    };
    const onChange = (paths: readonly string[]): unknown => told.push([...paths]);
    watch = new SourceWatch({
      folder,
      ignore: [],
      include: ["*.py"],
      clock: { ...systemClock, after },
      onChange,
      onProblem: () => {},
    });
    await watch.rebase();
    for (let round = 0; round < 50; round++)
      for (const path of ["a.log", "b.log", "data.json"]) await writeFile(join(folder, path), "2");
    expect(await toldUpTo("marker.py")).toEqual([]);
    expect(waits).toBeLessThan(10);
  });

  it("compares all files again and again where CHOKIDAR_USEPOLLING is set", async () => {
    vi.stubEnv("CHOKIDAR_USEPOLLING", "1");
    await save("src/a.ts", "1");
    await begin([], hurried);
    vi.unstubAllEnvs();
    await writeFile(join(folder, "src/a.ts"), "2");
    await save("new/deep/a.ts", "1");
    expect(await missing(["src/a.ts", "new/deep/a.ts"])).toEqual([]);
    await rm(folder, { recursive: true });
    await save("new/deep/a.ts", "2");
    expect(await missing(["src/a.ts", "new/deep/a.ts"])).toEqual([]);
  });

  it("calls nothing once it is closed", async () => {
    const source = await begin();
    await save("src/a.ts", "1");
    await source.close();
    for (const name of await readdir(folder)) expect(name).toBe("src");
    await save("src/b.ts", "1");
    await source.compare();
    expect(await readFile(join(folder, "src/b.ts"), "utf8")).toBe("1");
    expect(told).toEqual([]);
  });
});

describe("the ignore rule", () => {
  it("takes names at any depth and paths from the folder on", () => {
    const ignored = ignoreRule(["*.csv", "src/made/", "./a*c/b"]);
    expect(
      ["x/y.csv", "src/made", "src/made/x.ts", "abc/b", "ac/b/x", "deep/node_modules/x", "pkg.egg-info/x"].filter(
        (path) => !ignored(path),
      ),
    ).toEqual([]);
    expect(
      ["y.csvx", "x/src/made", "ab/b", "src/mad", "distant.py", "requirements.txt", "svc.worker.yaml", ".env"].filter(
        ignored,
      ),
    ).toEqual([]);
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
    for (const path of ["src/a.ts", "src/b/c/d.ts", "deep/down/x.py", "conf/app/any/thing"])
      expect([path, rule(path)]).toEqual([path, true]);
    for (const path of ["src/a.js", "lib/src/a.ts", "conf/other"]) expect([path, rule(path)]).toEqual([path, false]);
  });

  it("may be what tools make, when it is included by name", () => {
    expect(ignoreRule([])("dist/a.js")).toBe(true);
    expect(ignoreRule([], ["dist/**/*.js"])("dist/a.js")).toBe(false);
    expect(ignoreRule([], ["dist/**/*.js"])("node_modules/a.js")).toBe(true);
  });
});
