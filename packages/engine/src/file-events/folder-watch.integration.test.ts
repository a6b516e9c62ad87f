import { EventEmitter, once } from "node:events";
import { renameSync, statSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { manualClock } from "../testing/manual-clock.ts";
import {
  type ArmOutcome,
  type FolderEvent,
  FolderWatch,
  type FolderWatchOptions,
  folderIdentity,
  watchProblem,
} from "./folder-watch.ts";

let folder: string;
const watches: FolderWatch[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-folder-watch-"));
});

afterEach(async () => {
  for (const watch of watches.splice(0)) watch.close();
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

/** A watch with what it has reported. */
class Watched {
  readonly events: FolderEvent[] = [];
  readonly problems: string[] = [];
  readonly watch: FolderWatch;
  readonly #arrivals = new EventEmitter();

  constructor(options: Partial<FolderWatchOptions> = {}) {
    const onEvent = (event: FolderEvent): void => {
      this.events.push(event);
      this.#arrivals.emit("event");
    };
    this.watch = new FolderWatch({
      clock: systemClock,
      onEvent,
      onProblem: (message) => this.problems.push(message),
      ...options,
    });
    watches.push(this.watch);
  }

  arm(path = folder): ArmOutcome {
    return this.watch.arm(path, folderIdentity(statSync(path, { throwIfNoEntry: false }) ?? { dev: 0, ino: 0 }));
  }

  /** Waits for an event of the folder, 5 s at most. */
  async eventOf(path: string): Promise<void> {
    const signal = AbortSignal.timeout(5_000);
    while (!this.events.some((event) => event.folder === path)) await once(this.#arrivals, "event", { signal });
  }
}

describe("a folder watch", () => {
  it("reports a folder when an entry of it changes, and no other folder", async () => {
    const sub = join(folder, "sub");
    await mkdir(sub);
    const watched = new Watched();
    expect([watched.arm(), watched.arm()]).toEqual(["armed", "kept"]);
    await writeFile(join(sub, "a.ts"), "1");
    await writeFile(join(folder, "a.ts"), "1");
    await watched.eventOf(folder);
    expect(new Set(watched.events.map((event) => event.folder))).toEqual(new Set([folder]));
    expect(watched.events[0]).toEqual({ folder, name: "a.ts", isStructural: true });
  });

  it("arms a folder again that was removed and created, even if the system gives it the same number", async () => {
    const sub = join(folder, "sub");
    const watched = new Watched();
    for (let round = 0; round < 20; round++) {
      await mkdir(sub);
      expect(watched.arm(sub)).toBe("armed");
      watched.events.length = 0;
      await writeFile(join(sub, "a.ts"), "1");
      await watched.eventOf(sub);
      watched.events.length = 0;
      await rm(sub, { recursive: true });
      await watched.eventOf(sub);
    }
    expect(watched.arm(sub)).toBe("missing");
    expect(watched.problems).toEqual([]);
  });

  it("reports nothing for a disarmed folder, and nothing after closing", async () => {
    const [left, closed, other] = [new Watched(), new Watched(), new Watched()];
    for (const watched of [left, closed, other]) watched.arm();
    left.watch.disarm(folder);
    closed.watch.close();
    expect(closed.arm()).toBe("failed");
    await writeFile(join(folder, "a.ts"), "1");
    await other.eventOf(folder);
    expect([left, closed].map(({ events, problems }) => [events, problems])).toEqual([
      [[], []],
      [[], []],
    ]);
  });

  it("reports each kind of failure once", async () => {
    const watched = new Watched({ maxFolders: 1 });
    const tooLong = (letter: string): string => join(folder, letter.repeat(300));
    expect([tooLong("a"), tooLong("b")].map((path) => watched.watch.arm(path, ""))).toEqual(["failed", "failed"]);
    expect(watched.problems).toEqual([expect.stringMatching(/^file changes are not detected: ENAMETOOLONG/)]);
    for (const name of ["a", "b", "c"]) await mkdir(join(folder, name));
    expect(["a", "b", "c"].map((name) => watched.arm(join(folder, name)))).toEqual(["armed", "failed", "failed"]);
    expect(watched.problems.slice(1)).toEqual([expect.stringContaining("more than 1 folders")]);
    watched.watch.disarm(join(folder, "a"));
    expect(watched.arm(join(folder, "b"))).toBe("armed");
  });

  it("reports every folder after more events than the system keeps", async () => {
    const [loud, quiet] = [join(folder, "loud"), join(folder, "quiet")];
    for (const path of [loud, quiet]) await mkdir(path);
    await writeFile(join(loud, "a"), "1");
    const watched = new Watched();
    const other = new Watched();
    watched.arm(loud);
    other.arm(quiet);
    // In one turn of the event loop, so that nothing is taken from the system's queue meanwhile.
    for (let round = 0; round < 10_000; round++)
      for (const [from, to] of ["ab", "ba"]) renameSync(join(loud, from ?? ""), join(loud, to ?? ""));
    writeFileSync(join(quiet, "a"), "1");
    await other.eventOf(quiet);
    expect(other.arm(quiet)).toBe("armed");
  });

  it.each([
    ["1", 2],
    ["true", 2],
    ["0", 0],
    ["", 0],
  ])("reports every folder each second where CHOKIDAR_USEPOLLING is %j", (value, reports) => {
    vi.stubEnv("CHOKIDAR_USEPOLLING", value);
    const clock = manualClock();
    const watched = new Watched({ clock });
    expect(watched.arm()).toBe("armed");
    clock.advance(2_500);
    expect(watched.events).toEqual(
      Array.from({ length: reports }, () => ({ folder, name: undefined, isStructural: true })),
    );
    watched.watch.close();
    expect(clock.pendingTimers).toBe(0);
  });
});

it("names the limit that is reached and how to raise it", () => {
  const problemOf = (code: string): string => watchProblem(Object.assign(new Error("no"), { code }));
  expect(problemOf("ENOSPC")).toContain("sysctl fs.inotify.max_user_watches");
  expect(problemOf("EMFILE")).toContain("ulimit -n");
  expect(problemOf("EIO")).toBe("file changes are not detected: no");
});
