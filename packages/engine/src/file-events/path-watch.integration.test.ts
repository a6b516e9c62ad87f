import { EventEmitter, once } from "node:events";
import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { PathWatch } from "./path-watch.ts";

let folder: string;
let watch: PathWatch | undefined;
let events: EventEmitter;
let count = 0;
const problems: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-path-watch-"));
  events = new EventEmitter();
  count = 0;
  problems.length = 0;
});

afterEach(async () => {
  watch?.close();
  await rm(folder, { recursive: true, force: true });
});

const at = (path: string): string => join(folder, path);

async function save(path: string): Promise<void> {
  await mkdir(dirname(at(path)), { recursive: true });
  await writeFile(at(path), "text");
}

function begin(...paths: readonly string[]): PathWatch {
  const onEvent = (): void => {
    count += 1;
    events.emit("event");
  };
  watch = new PathWatch({
    paths: paths.map(at),
    clock: systemClock,
    onEvent,
    onProblem: (message) => problems.push(message),
  });
  watch.arm();
  return watch;
}

/** Waits for the event of a step, 5 s at most, and arms the watch again as its users do. */
async function eventOf(step: () => Promise<void>): Promise<void> {
  const event = once(events, "event", { signal: AbortSignal.timeout(5_000) });
  await step();
  await event;
  watch?.arm();
}

describe("a path watch", () => {
  it("raises an event when the file changes, is replaced, removed and created", async () => {
    await save("a.env");
    begin("a.env");
    await eventOf(() => save("a.env"));
    await save("b.env");
    await eventOf(() => rename(at("b.env"), at("a.env")));
    await eventOf(() => unlink(at("a.env")));
    await eventOf(() => save("a.env"));
    expect(problems).toEqual([]);
  });

  it("raises none for other files", async () => {
    await save("a.env");
    begin("a.env");
    for (const name of ["b.env", "a.env.tmp", "c/a.env"]) await save(name);
    await eventOf(() => save("a.env"));
    // Created and written.
    expect(count).toBeLessThanOrEqual(2);
  });

  it("follows folders as they come and go", async () => {
    begin("some/deep/a.env", "other/b.env");
    for (let round = 0; round < 10; round++) {
      await eventOf(() => save("some/deep/a.env"));
      await eventOf(() => save("some/deep/a.env"));
      await eventOf(() => save("other/b.env"));
      await eventOf(() => rm(at("some"), { recursive: true }));
      await eventOf(() => rm(at("other"), { recursive: true }));
    }
    expect(problems).toEqual([]);
  });

  it("follows links of files and of folders, and notices when they lead elsewhere", async () => {
    for (const release of ["r1", "r2"]) await save(`releases/${release}/a.env`);
    await symlink("r1", at("releases/current"));
    await symlink("releases/current/a.env", at("a.env"));
    begin("a.env");
    await eventOf(() => save("releases/r1/a.env"));
    // As Kubernetes changes a mounted ConfigMap.
    await symlink("r2", at("releases/next"));
    await eventOf(() => rename(at("releases/next"), at("releases/current")));
    await eventOf(() => save("releases/r2/a.env"));
    const before = count;
    await save("releases/r1/a.env");
    await symlink(at("releases/../releases/r2/a.env"), at("next"));
    await eventOf(() => rename(at("next"), at("a.env")));
    expect(count).toBe(before + 1);
    await eventOf(() => save("releases/r2/a.env"));
  });

  it("notices when links that go round in a circle are put right, and when a file on the way becomes a folder", async () => {
    await symlink("b", at("a"));
    await symlink("a", at("b"));
    await save("file");
    begin("a", "file/a.env");
    await eventOf(() => unlink(at("b")));
    await eventOf(() => save("b"));
    await eventOf(() => unlink(at("file")));
    await eventOf(() => save("file/a.env"));
    await eventOf(() => save("file/a.env"));
    expect(problems).toEqual([]);
  });
});
