import { createHash } from "node:crypto";
import type { BigIntStats, Dirent } from "node:fs";
import { lstat, readdir, readFile, readlink, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import {
  type ArmOutcome,
  type FolderEvent,
  FolderWatch,
  folderIdentity,
  isMissing,
  watchProblem,
} from "../../../file-events/folder-watch.ts";
import { PathWatch } from "../../../file-events/path-watch.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { ignoreRule, type PathRule, pathRule } from "./watch-ignore.ts";

/** Time from the last event to the scan. An editor or a checkout changes several files, which count as one change. */
const DEBOUNCE_MS = 300;
/** Maximum wait while events continue. */
const LONGEST_WAIT_MS = 3_000;
/** Larger files are compared by size and time, not by content. */
const MAX_HASHED_BYTES = 1024 * 1024;
const MAX_KNOWN_FILES = 20_000;
/** Maximum number of files that are read at the same time. */
const MAX_CONCURRENT_READS = 32;
/**
 * A file may be saved twice within one tick of its file system's clock: 2 s on FAT, 1 s on HFS+, 4 ms on ext4. A file
 * that is younger than this is therefore read again by the next scan, although its times are the same.
 */
const SETTLED_AGE_MS = 2_500;
/** Maximum lag of the times of files behind the clock of the process. */
const MAX_CLOCK_LAG_MS = 20;
/**
 * A file that changes more often than this within a minute is probably written by the worker itself. It is no longer
 * watched, because each restart would change it again.
 */
const NOISY_CHANGES = 20;
const NOISY_WINDOW_MS = 60_000;

export interface SourceWatchOptions {
  /** Absolute path. It may be missing; it is watched as soon as it exists. */
  readonly folder: string;
  /** Names and paths to ignore in addition to the default ones. */
  readonly ignore: readonly string[];
  /** Names and paths to limit the watch to. Default: no limit. */
  readonly include?: readonly string[];
  /** Files to report although they are outside of `include`. */
  readonly always?: PathRule;
  /** Files, relative to the folder, to report although they are outside of `include` or ignored. */
  readonly named?: readonly string[];
  readonly clock: Clock;
  /** Called with the sorted paths, relative to the folder, of files that were added, removed or have other content. */
  readonly onChange: (paths: readonly string[]) => void;
  /** Called with a message for the user about what keeps files from being watched. */
  readonly onProblem: (message: string) => void;
}

interface KnownFile {
  readonly digest: string;
  /** Changes with each save, except for two saves within one tick of the file system's clock. */
  readonly signature: string;
  /** False if the file was so young when it was read that a later save may not change the signature. */
  readonly isSettled: boolean;
}

interface KnownFolder {
  /** By name within the folder. */
  readonly files: Map<string, KnownFile>;
  /** Names of sub-folders. */
  folders: ReadonlySet<string>;
  identity: string | undefined;
  /** Start of the last scan, wall clock in milliseconds. Undefined before the first one. */
  scannedAtMs: number | undefined;
}

/** One pass over some or all folders. */
interface Scan {
  /** Paths of files that were added, removed or have other content. */
  readonly changed: Set<string>;
  /** True: the result of the scan is the new reference and is not reported. */
  readonly isBaseline: boolean;
}

/**
 * Reports when files of a worker's folder have other content than before. Does not report a file whose time alone
 * changed.
 *
 * Events only say which folder to scan. Each folder is armed (registered for events) before it is read, so that each
 * change is found by that read or raises an event.
 */
export class SourceWatch {
  readonly #options: SourceWatchOptions;
  readonly #ignored: PathRule;
  readonly #included: PathRule;
  readonly #watch: FolderWatch;
  /** Watches for the folder itself being created, removed or replaced. */
  readonly #rootWatch: PathWatch;
  /** By path relative to the folder. The folder itself is "". */
  readonly #folders = new Map<string, KnownFolder>();
  /** Paths of folders to scan. */
  readonly #dirty = new Set<string>();
  readonly #changesAtMs = new Map<string, number[]>();
  readonly #muted = new Set<string>();
  #knownFiles = 0;
  /** True if the last scan skipped something because file descriptors or memory ran out. */
  #isShort = false;
  #firstEventMs: number | undefined;
  #cancelDebounce = (): void => {};
  #work: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: SourceWatchOptions) {
    this.#options = options;
    const { folder, clock, include = [], always, named = [] } = options;
    const isIgnored = ignoreRule(options.ignore, include);
    // Ignored folders are not read, except for folders that contain a named file at any depth.
    this.#ignored = (path) => isIgnored(path) && !named.some((file) => file === path || file.startsWith(`${path}/`));
    const isIncluded = pathRule(include);
    this.#included =
      include.length === 0 ? () => true : (path) => isIncluded(path) || named.includes(path) || always?.(path) === true;
    this.#watch = new FolderWatch({
      clock,
      onEvent: (event) => this.#notice(event),
      onProblem: (message) => this.#problem(message),
    });
    // Problems of this watch are not reported: an unreadable parent folder does no harm, and `#watch` reports exhausted
    // limits.
    this.#rootWatch = new PathWatch({
      paths: [folder],
      clock,
      onEvent: () => this.#markDirty(""),
      onProblem: () => {},
    });
  }

  /** Makes the current files the reference: earlier changes are no longer reported. Starts the watch. */
  rebase(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#scan(this.#takeAll(), true);
    });
  }

  /** Scans all files and reports changes at once. */
  compare(): Promise<void> {
    return this.#enqueue(async () => this.#report(await this.#scan(this.#takeAll(), false)));
  }

  /** Stops watching. Nothing is called afterwards. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelDebounce();
    this.#watch.close();
    this.#rootWatch.close();
    await this.#work;
  }

  #notice({ folder, name, isStructural }: FolderEvent): void {
    const path = relative(this.#options.folder, folder).split(sep).join("/");
    if (name === undefined || this.#mayMatter(childOf(path, name), isStructural)) this.#markDirty(path);
  }

  /**
   * Returns false for events that need no scan, e.g. of a log file that the worker appends to: they would prolong the
   * debounce of other changes.
   */
  #mayMatter(path: string, isStructural: boolean): boolean {
    if (this.#ignored(path)) return false;
    return isStructural || this.#folders.has(path) || (this.#included(path) && !this.#muted.has(path));
  }

  #markDirty(folder: string): void {
    if (this.#closed) return;
    this.#dirty.add(folder);
    const nowMs = this.#options.clock.monotonic();
    this.#firstEventMs ??= nowMs;
    this.#scanAfter(Math.min(DEBOUNCE_MS, Math.max(0, this.#firstEventMs + LONGEST_WAIT_MS - nowMs)));
  }

  #scanAfter(waitMs: number): void {
    this.#cancelDebounce();
    this.#cancelDebounce = this.#options.clock.after(waitMs, () => {
      // `#enqueue` handles failures.
      void this.#enqueue(async () => this.#report(await this.#scan(this.#takeDirty(), false)));
    });
  }

  #takeDirty(): string[] {
    this.#cancelDebounce();
    this.#firstEventMs = undefined;
    const taken = [...this.#dirty];
    this.#dirty.clear();
    return taken;
  }

  #takeAll(): string[] {
    return [...new Set(["", ...this.#takeDirty(), ...this.#folders.keys()])];
  }

  /** Runs scans one at a time, in order. */
  #enqueue(scan: () => Promise<void>): Promise<void> {
    this.#work = this.#work
      .then(() => (this.#closed ? undefined : scan()))
      .catch((error: unknown) => this.#problem(watchProblem(error)));
    return this.#work;
  }

  /**
   * Scans the folders, and all new folders below them. Returns the paths of files that were added, removed or have
   * other content.
   */
  async #scan(folders: readonly string[], isBaseline: boolean): Promise<ReadonlySet<string>> {
    const scan: Scan = { changed: new Set(), isBaseline };
    // Parents first: if a folder was removed, the folders below it are removed with it and need no scan.
    const queue = [...folders].sort().map((path) => ({ path, isDirty: true }));
    let shortage: unknown;
    for (const { path, isDirty } of queue) {
      if (this.#closed) break;
      try {
        queue.push(...(await this.#scanFolder(path, isDirty, scan)));
      } catch (error) {
        shortage = error;
        this.#dirty.add(path);
      }
    }
    if (shortage !== undefined && !this.#closed) this.#scanAfter(LONGEST_WAIT_MS);
    if (shortage !== undefined && !this.#isShort) this.#problem(watchProblem(shortage));
    this.#isShort = shortage !== undefined;
    return scan.changed;
  }

  /**
   * Arms a folder and then reads it, if that is needed. Returns the sub-folders to scan next. Throws if the process is
   * short of resources.
   */
  async #scanFolder(
    path: string,
    isDirty: boolean,
    scan: Scan,
  ): Promise<{ readonly path: string; readonly isDirty: boolean }[]> {
    const folder = this.#folders.get(path) ?? (path === "" ? this.#addFolder("") : undefined);
    // The folder was removed with its parent.
    if (folder === undefined) return [];
    const nowMs = Date.now();
    const outcome = await this.#arm(path, folder);
    if (outcome === "kept" && !isDirty && folder.scannedAtMs !== undefined) return [];
    const entries = outcome === "missing" ? undefined : await readFolder(join(this.#options.folder, path));
    if (entries === undefined) {
      this.#forget(path, scan);
      return [];
    }
    const watched = entries.filter((entry) => !this.#ignored(childOf(path, entry.name)));
    const files = watched
      .filter((entry) => !entry.isDirectory() && this.#included(childOf(path, entry.name)))
      .map(({ name }) => name);
    await this.#scanFiles(path, folder, files, scan);
    const folders = new Set(watched.filter((entry) => entry.isDirectory()).map(({ name }) => name));
    for (const name of folder.folders) if (!folders.has(name)) this.#forget(childOf(path, name), scan);
    for (const name of folders) if (!this.#folders.has(childOf(path, name))) this.#addFolder(childOf(path, name));
    folder.folders = folders;
    folder.scannedAtMs = nowMs;
    return [...folders].map((name) => ({ path: childOf(path, name), isDirty: false }));
  }

  async #arm(path: string, folder: KnownFolder): Promise<ArmOutcome> {
    const absolute = join(this.#options.folder, path);
    if (path === "") this.#rootWatch.arm();
    const stats = await (path === "" ? stat(absolute) : lstat(absolute)).catch(() => undefined);
    if (stats?.isDirectory() !== true) return "missing";
    const identity = folderIdentity(stats);
    // If another folder is at this path now, its sub-folders are other folders too, even if their names are the same.
    if (folder.identity !== identity) this.#disarmBelow(path, folder);
    folder.identity = identity;
    return this.#watch.arm(absolute, identity);
  }

  #disarmBelow(path: string, { folders }: KnownFolder): void {
    for (const name of folders) {
      const child = childOf(path, name);
      this.#watch.disarm(join(this.#options.folder, child));
      const known = this.#folders.get(child);
      if (known !== undefined) this.#disarmBelow(child, known);
    }
  }

  #addFolder(path: string): KnownFolder {
    const folder: KnownFolder = { files: new Map(), folders: new Set(), identity: undefined, scannedAtMs: undefined };
    this.#folders.set(path, folder);
    return folder;
  }

  /** Drops a removed folder and all below it. */
  #forget(path: string, scan: Scan): void {
    this.#watch.disarm(join(this.#options.folder, path));
    const folder = this.#folders.get(path);
    if (folder === undefined) return;
    this.#folders.delete(path);
    for (const name of folder.files.keys()) scan.changed.add(childOf(path, name));
    this.#knownFiles -= folder.files.size;
    for (const name of folder.folders) this.#forget(childOf(path, name), scan);
  }

  async #scanFiles(path: string, folder: KnownFolder, names: readonly string[], scan: Scan): Promise<void> {
    const there = new Set(names);
    for (const name of [...folder.files.keys()]) if (!there.has(name)) this.#dropFile(path, folder, name, scan);
    for (let start = 0; start < names.length && !this.#closed; start += MAX_CONCURRENT_READS) {
      const some = names.slice(start, start + MAX_CONCURRENT_READS);
      const results = await Promise.allSettled(some.map((name) => this.#scanFile(path, folder, name, scan)));
      // Throw only when all reads have ended, so that a late result never replaces a result of the next scan.
      for (const result of results) if (result.status === "rejected") throw result.reason;
    }
  }

  #dropFile(path: string, folder: KnownFolder, name: string, scan: Scan): void {
    if (!folder.files.delete(name)) return;
    this.#knownFiles -= 1;
    scan.changed.add(childOf(path, name));
  }

  async #scanFile(path: string, folder: KnownFolder, name: string, scan: Scan): Promise<void> {
    const filePath = childOf(path, name);
    if (this.#muted.has(filePath)) return;
    const known = folder.files.get(name);
    if (known === undefined && this.#knownFiles >= MAX_KNOWN_FILES) return this.#scanUncompared(filePath, folder, scan);
    const file = join(this.#options.folder, filePath);
    // Read the times before the content. After a save in between, the older times are stored with the newer content,
    // but the save raises an event, so the file is read again.
    const nowMs = Date.now();
    const stats = await orUndefined(lstat(file, { bigint: true }));
    // If a folder has just replaced the file, another event follows, so treat the file as removed.
    if (stats === undefined || stats.isDirectory()) return this.#dropFile(path, folder, name, scan);
    const signature = signatureOf(stats);
    if (known?.isSettled === true && known.signature === signature) return;
    const digest = await orUndefined(digestOf(file, stats));
    if (digest === undefined) return this.#dropFile(path, folder, name, scan);
    if (known === undefined) this.#knownFiles += 1;
    folder.files.set(name, { digest, signature, isSettled: nowMs - changedAtMs(stats) >= SETTLED_AGE_MS });
    if (known?.digest !== digest) scan.changed.add(filePath);
  }

  /** Reports a file beyond `MAX_KNOWN_FILES` by its time alone, since there is no content to compare with. */
  async #scanUncompared(path: string, { scannedAtMs = 0 }: KnownFolder, scan: Scan): Promise<void> {
    if (scan.isBaseline) return;
    const stats = await orUndefined(lstat(join(this.#options.folder, path), { bigint: true }));
    if (stats !== undefined && changedAtMs(stats) >= scannedAtMs - MAX_CLOCK_LAG_MS) scan.changed.add(path);
  }

  #report(changed: ReadonlySet<string>): void {
    const reported = [...changed].filter((path) => !this.#muted.has(path) && !this.#isNoisy(path)).sort();
    if (reported.length > 0 && !this.#closed) this.#options.onChange(reported);
  }

  #problem(message: string): void {
    if (!this.#closed) this.#options.onProblem(message);
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
    this.#problem(
      `${name} changed more than ${NOISY_CHANGES} times within a minute and is no longer watched; if the worker writes it, add it to watch.ignore in the manifest`,
    );
    return true;
  }
}

function childOf(path: string, name: string): string {
  return path === "" ? name : `${path}/${name}`;
}

/**
 * Undefined if there is no such folder. A folder that cannot be read counts as empty: the worker cannot read it either.
 */
async function readFolder(folder: string): Promise<Dirent[] | undefined> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return undefined;
    if (isShortage(error)) throw error;
    return [];
  }
}

/** Undefined if there is no such file, or it cannot be read: the worker cannot read it either. */
async function orUndefined<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isShortage(error)) throw error;
    return undefined;
  }
}

/** True if the same read may succeed later, without any change of the file. */
function isShortage(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "EMFILE" || code === "ENFILE" || code === "ENOMEM";
}

/**
 * Contains the time of change (ctime) too, because copies and archives may set the time of modification (mtime) back.
 */
function signatureOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}

/** Returns the time of the last change, in milliseconds of the wall clock. */
function changedAtMs({ mtimeMs, ctimeMs }: BigIntStats): number {
  return Number(mtimeMs > ctimeMs ? mtimeMs : ctimeMs);
}

async function digestOf(file: string, stats: BigIntStats): Promise<string> {
  // Links are not followed, because their targets may be outside of the folder.
  if (stats.isSymbolicLink()) return `link:${await readlink(file)}`;
  if (!stats.isFile() || stats.size > MAX_HASHED_BYTES) return `${stats.size}:${stats.mtimeNs}`;
  return createHash("sha256")
    .update(await readFile(file))
    .digest("base64");
}
