import { createHash } from "node:crypto";
import { lstat, readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { type FSWatcher, watch } from "chokidar";
import type { Clock } from "../../kernel/clock.ts";
import { ignoreRule, type PathRule, pathRule } from "./watch-ignore.ts";

/** An editor or a checkout touches several files; they count as one change. */
const DEBOUNCE_MS = 300;
/** A folder that never comes to rest is looked at this often all the same. */
const LONGEST_WAIT_MS = 3_000;
/** Larger files count by size and time, not by content. */
const MAX_HASHED_BYTES = 1024 * 1024;
const MAX_KNOWN_FILES = 20_000;
/** A file that changes this often within a minute is written by the worker itself: to restart for it would never end. */
const NOISY_CHANGES = 20;
const NOISY_WINDOW_MS = 60_000;

export interface SourceWatchOptions {
  /** Absolute path. */
  readonly folder: string;
  /** Names and paths to leave out besides the usual ones. */
  readonly ignore: readonly string[];
  /** Names and paths outside of which nothing is told; empty or absent: there is no such limit. */
  readonly include?: readonly string[];
  /** What is told although it lies outside of `include`. */
  readonly always?: PathRule;
  /** Files, relative to the folder, that are told although they lie outside of `include` or are left out. */
  readonly named?: readonly string[];
  readonly clock: Clock;
  /** Told the paths, relative to the folder, whose content is another than before. */
  readonly onChange: (paths: readonly string[]) => void;
  /** Told what keeps files from being watched. */
  readonly onProblem: (message: string) => void;
}

/** Tells when files of a worker's folder have other content than before; a touch is no change. */
export class SourceWatch {
  readonly #options: SourceWatchOptions;
  readonly #ignored: PathRule;
  readonly #included: PathRule;
  readonly #watcher: FSWatcher;
  readonly #touched = new Set<string>();
  readonly #changesAtMs = new Map<string, number[]>();
  readonly #muted = new Set<string>();
  #known: Map<string, string> = new Map();
  #firstTouchMs: number | undefined;
  #cancelDebounce = (): void => {};
  #work: Promise<void> = Promise.resolve();
  #closed = false;
  readonly #ready: Promise<void>;

  constructor(options: SourceWatchOptions) {
    this.#options = options;
    const { include = [], always, named = [] } = options;
    const isIgnored = ignoreRule(options.ignore, include);
    // A folder that is left out is not looked into, so the way to a file that is named is none.
    this.#ignored = (path) => isIgnored(path) && !named.some((file) => file === path || file.startsWith(`${path}/`));
    const isIncluded = pathRule(include);
    this.#included = include.length === 0 ? () => true : (path) => isIncluded(path) || named.includes(path) || always?.(path) === true;
    this.#watcher = watch(options.folder, { ignoreInitial: true, followSymlinks: false, ignored: (path) => this.#leavesOut(path) });
    this.#watcher.on("add", (path) => this.#touch(path));
    this.#watcher.on("change", (path) => this.#touch(path));
    this.#watcher.on("unlink", (path) => this.#touch(path));
    this.#watcher.on("error", (error) => options.onProblem(watchProblem(error)));
    this.#ready = new Promise((resolve) => this.#watcher.once("ready", () => resolve()));
  }

  /** Takes the files as they are now as known: changes before this moment are no longer told. */
  async rebase(): Promise<void> {
    await this.#ready;
    this.#cancelDebounce();
    this.#touched.clear();
    this.#firstTouchMs = undefined;
    await this.#enqueue(async () => {
      this.#known = await this.#scan();
    });
  }

  /** Tells at once what has changed up to now. */
  async compare(): Promise<void> {
    await this.#ready;
    await this.#enqueue(async () => {
      for (const name of (await this.#scan()).keys()) this.#touched.add(name);
      for (const name of this.#known.keys()) this.#touched.add(name);
      await this.#compareTouched();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelDebounce();
    await this.#watcher.close();
    await this.#work;
  }

  #leavesOut(path: string): boolean {
    const name = relative(this.#options.folder, path);
    return name !== "" && this.#ignored(name.split(sep).join("/"));
  }

  #touch(path: string): void {
    const name = relative(this.#options.folder, path).split(sep).join("/");
    if (this.#closed || this.#muted.has(name) || !this.#included(name)) return;
    this.#touched.add(name);
    const nowMs = this.#options.clock.monotonic();
    this.#firstTouchMs ??= nowMs;
    const waitMs = Math.min(DEBOUNCE_MS, Math.max(0, this.#firstTouchMs + LONGEST_WAIT_MS - nowMs));
    this.#cancelDebounce();
    this.#cancelDebounce = this.#options.clock.after(waitMs, () => {
      // What fails in it is told by `onProblem`.
      void this.#enqueue(() => this.#compareTouched());
    });
  }

  /** One look at the disk at a time, in order. */
  #enqueue(look: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(look).catch((error: unknown) => this.#options.onProblem(watchProblem(error)));
    return this.#work;
  }

  async #compareTouched(): Promise<void> {
    const touched = [...this.#touched].filter((name) => !this.#muted.has(name));
    this.#cancelDebounce();
    this.#touched.clear();
    this.#firstTouchMs = undefined;
    const changed: string[] = [];
    for (const name of touched) {
      const before = this.#known.get(name);
      const now = await digestOf(join(this.#options.folder, name));
      if (now === before) continue;
      if (now === undefined) this.#known.delete(name);
      else if (before !== undefined || this.#known.size < MAX_KNOWN_FILES) this.#known.set(name, now);
      if (!this.#isNoisy(name)) changed.push(name);
    }
    if (changed.length > 0 && !this.#closed) this.#options.onChange(changed.sort());
  }

  #isNoisy(name: string): boolean {
    const nowMs = this.#options.clock.monotonic();
    const recent = [...(this.#changesAtMs.get(name) ?? []).filter((at) => nowMs - at < NOISY_WINDOW_MS), nowMs];
    this.#changesAtMs.delete(name);
    this.#changesAtMs.set(name, recent);
    if (this.#changesAtMs.size > MAX_KNOWN_FILES) this.#changesAtMs.delete(this.#changesAtMs.keys().next().value ?? "");
    if (recent.length <= NOISY_CHANGES) return false;
    this.#muted.add(name);
    this.#changesAtMs.delete(name);
    this.#options.onProblem(
      `${name} changed more than ${NOISY_CHANGES} times within a minute and is no longer watched; if the worker writes it, add it to watch.ignore in the manifest`,
    );
    return true;
  }

  async #scan(): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    const folders = [""];
    for (let folder = folders.pop(); folder !== undefined && found.size < MAX_KNOWN_FILES; folder = folders.pop()) {
      const entries = await readdir(join(this.#options.folder, folder), { withFileTypes: true }).catch(() => []);
      for (const entry of entries) {
        const name = folder === "" ? entry.name : `${folder}/${entry.name}`;
        if (this.#ignored(name)) continue;
        if (entry.isDirectory()) folders.push(name);
        else if (found.size < MAX_KNOWN_FILES && this.#included(name)) found.set(name, (await digestOf(join(this.#options.folder, name))) ?? "");
      }
    }
    return found;
  }
}

/** Undefined when there is no such file. */
async function digestOf(file: string): Promise<string | undefined> {
  try {
    const entry = await lstat(file);
    if (!entry.isFile() || entry.size > MAX_HASHED_BYTES) return `${entry.size}:${entry.mtimeMs}`;
    return createHash("sha256")
      .update(await readFile(file))
      .digest("base64");
  } catch {
    // Gone, or not ours to read: the process could not read it either.
    return undefined;
  }
}

function watchProblem(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC")
    return "file changes are not noticed: the system's limit of watched files is reached; raise it with: sudo sysctl fs.inotify.max_user_watches=524288";
  if (code === "EMFILE") return "file changes are not noticed: the limit of open files is reached; raise it with: ulimit -n 65536";
  return `file changes are not noticed: ${message}`;
}
