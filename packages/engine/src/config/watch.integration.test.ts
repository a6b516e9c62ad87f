import { EventEmitter, once } from "node:events";
import { unlinkSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../testing/index.ts";
import { addWorkerToConfig } from "./edit/edit-config.ts";
import { revisionOf } from "./load.ts";
import { type ConfigFileChange, type ConfigWatch, type WatchOptions, watchConfig } from "./watch.ts";

// Files are written synchronously: otherwise the watch may read a file that is empty for a moment, and reports that.

let folder: string;
let file: string;
let watching: ConfigWatch | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-config-watch-"));
  file = join(folder, "config.yaml");
  writeFileSync(file, "workers: []\n");
});
afterEach(async () => {
  await watching?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Collects changes in order. `next` waits for one, at most 5 s. */
class Changes {
  readonly all: ConfigFileChange[] = [];
  readonly #arrivals = new EventEmitter();
  #taken = 0;

  add(change: ConfigFileChange): void {
    this.all.push(change);
    this.#arrivals.emit("change");
  }

  async next(): Promise<ConfigFileChange> {
    const index = this.#taken++;
    while (this.all.length <= index) await once(this.#arrivals, "change", { signal: AbortSignal.timeout(5_000) });
    const change = this.all[index];
    if (change === undefined) throw new Error("no change");
    return change;
  }

  /** Waits for a change, at most 5 s after the last one. */
  async until(wanted: ConfigFileChange): Promise<void> {
    while (!isDeepStrictEqual(await this.next(), wanted));
  }
}

async function watchFile(path: string, options: Partial<WatchOptions> = {}): Promise<Changes> {
  const changes = new Changes();
  watching = watchConfig(path, {
    debounceMs: 20,
    onChange: (change) => changes.add(change),
    onError: (error) => {
      throw error;
    },
    ...options,
  });
  await watching.ready;
  return changes;
}

const changedTo = (text: string): ConfigFileChange => ({ kind: "changed", revision: revisionOf(text) });

describe("watchConfig", () => {
  it("reports a change in place, then one by rename, then one by the CLI's own edit", async () => {
    const changes = await watchFile(file);
    writeFileSync(file, "# in place\n");
    expect(await changes.next()).toEqual(changedTo("# in place\n"));
    writeFileSync(join(folder, "config.yaml~"), "# renamed\n");
    await rename(join(folder, "config.yaml~"), file);
    expect(await changes.next()).toEqual(changedTo("# renamed\n"));
    await addWorkerToConfig(file, { name: "svc-state" });
    expect(await changes.next()).toEqual(changedTo("# renamed\nworkers:\n  - name: svc-state\n"));
    expect(changes.all).toHaveLength(3);
  });

  it("follows a file that is deleted and created again", async () => {
    const changes = await watchFile(file);
    unlinkSync(file);
    expect(await changes.next()).toEqual({
      kind: "unreadable",
      reason: expect.stringContaining("there is no such file"),
    });
    writeFileSync(file, "# back\n");
    expect(await changes.next()).toEqual(changedTo("# back\n"));
  });

  it("takes no notice of saves that change nothing and of other files", async () => {
    const changes = await watchFile(file);
    writeFileSync(file, "workers: []\n");
    writeFileSync(join(folder, "other.yaml"), "x");
    await rename(join(folder, "other.yaml"), join(folder, "another.yaml"));
    unlinkSync(file);
    writeFileSync(file, "workers: []\n");
    writeFileSync(file, "# real\n");
    expect(await changes.next()).toEqual(changedTo("# real\n"));
    expect(changes.all).toHaveLength(1);
  });

  describe("takes a file that may be cut off only once it has stood for 5 s", () => {
    const whole = `workers:\n${Array.from({ length: 9 }, (_, at) => `  - name: worker-${at}\n`).join("")}`;

    it.each([
      ["that is empty", ""],
      ["that was cut off", whole.slice(0, 60)],
      ["that lacks its last line", whole.slice(0, whole.lastIndexOf("  - name"))],
      ["that was changed and lacks the end of its last line", `# ${whole.slice(0, whole.length - 5)}`],
      ["without workers, written in place", "workers: []\n"],
    ])("%s", async (_what, text) => {
      await writeFile(file, whole);
      const clock = manualClock();
      const changes = await watchFile(file, { clock });
      await writeFile(file, text);
      clock.advance(100);
      expect(await changes.next()).toEqual({ kind: "shrunk", waitMs: 5_000 });
      await writeFile(file, whole);
      clock.advance(10_000);
      await writeFile(file, text);
      clock.advance(4_000);
      expect(await changes.next()).toEqual({ kind: "shrunk", waitMs: 5_000 });
      expect(changes.all).toHaveLength(2);
      clock.advance(5_100);
      expect(await changes.next()).toEqual(changedTo(text));
    });

    it("but at once if another file replaced it, as editors and the CLI do", async () => {
      await writeFile(file, whole);
      const changes = await watchFile(file);
      await writeFile(join(folder, "new.yaml"), "workers: []\n");
      await rename(join(folder, "new.yaml"), file);
      expect(await changes.next()).toEqual(changedTo("workers: []\n"));
    });
  });

  it("reports an edit made between loading and watching", async () => {
    const loaded = revisionOf("workers: []\n");
    writeFileSync(file, "# meanwhile\n");
    const changes = await watchFile(file, { revision: loaded });
    expect(await changes.next()).toEqual(changedTo("# meanwhile\n"));
  });

  it("follows a symbolic link to the file", async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), "svc-config-real-"));
    const real = join(elsewhere, "real.yaml");
    writeFileSync(real, "workers: []\n");
    unlinkSync(file);
    await symlink(real, file);
    const changes = await watchFile(file);
    writeFileSync(real, "# behind the link\n");
    expect(await changes.next()).toEqual(changedTo("# behind the link\n"));
    await rm(elsewhere, { recursive: true });
  });

  it("reports the last of several saves, however close they are", async () => {
    const changes = await watchFile(file, { debounceMs: 1 });
    for (let round = 0; round < 30; round++) {
      for (const text of ["a", "b", "c"]) {
        writeFileSync(join(folder, "draft"), `# ${round}${text}\n`);
        await rename(join(folder, "draft"), file);
        for (let turn = 0; turn < round; turn++) await setImmediate();
      }
      await changes.until(changedTo(`# ${round}c\n`));
    }
  });

  it.each(["exists", "is missing"])(
    "follows a folder that is removed and created again with the file, if it %s at first",
    async (first) => {
      const inner = join(folder, "etc", "svc");
      const path = join(inner, "config.yaml");
      const create = async (text: string, turns: number): Promise<void> => {
        await mkdir(inner, { recursive: true });
        for (let turn = 0; turn < turns; turn++) await setImmediate();
        writeFileSync(path, text);
      };
      if (first === "exists") await create("# first\n", 0);
      const changes = await watchFile(path, { debounceMs: 1, revision: "none yet" });
      for (let round = 0; round < 20; round++) {
        await rm(join(folder, "etc"), { recursive: true, force: true });
        await create(`# ${round}\n`, round);
        await changes.until(changedTo(`# ${round}\n`));
        writeFileSync(path, `# ${round}, again\n`);
        await changes.until(changedTo(`# ${round}, again\n`));
      }
    },
  );

  it("follows links that are changed to lead elsewhere, as those of a ConfigMap of Kubernetes", async () => {
    for (const name of ["v1", "v2"]) {
      await mkdir(join(folder, name));
      writeFileSync(join(folder, name, "config.yaml"), `# ${name}\n`);
    }
    await symlink("v1", join(folder, "..data"));
    unlinkSync(file);
    await symlink("..data/config.yaml", file);
    const changes = await watchFile(file);
    await symlink("v2", join(folder, "..next"));
    await rename(join(folder, "..next"), join(folder, "..data"));
    await changes.until(changedTo("# v2\n"));
    writeFileSync(join(folder, "v2", "config.yaml"), "# in place\n");
    await changes.until(changedTo("# in place\n"));
    writeFileSync(join(folder, "v3.yaml"), "# v3\n");
    await symlink("v3.yaml", join(folder, "next"));
    await rename(join(folder, "next"), file);
    await changes.until(changedTo("# v3\n"));
    writeFileSync(join(folder, "v3.yaml"), "# v3 in place\n");
    await changes.until(changedTo("# v3 in place\n"));
  });

  it("calls one at a time, hands failures on, and calls nothing after it was closed", async () => {
    const errors = new EventEmitter();
    let running = 0;
    await watchFile(file, {
      onChange: async () => {
        running += 1;
        expect(running).toBe(1);
        await Promise.resolve();
        running -= 1;
        throw new Error("not applied");
      },
      onError: (error) => errors.emit("failed", error),
    });
    const failed = once(errors, "failed", { signal: AbortSignal.timeout(5_000) });
    writeFileSync(file, "# one\n");
    expect(await failed).toEqual([new Error("not applied")]);
    await watching?.close();
    let calls = 0;
    errors.on("failed", () => {
      calls += 1;
    });
    writeFileSync(file, "# two\n");
    expect(calls).toBe(0);
  });
});
