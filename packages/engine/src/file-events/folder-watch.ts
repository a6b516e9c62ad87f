import { watch } from "node:fs";
import { basename } from "node:path";
import { type Clock, every } from "../kernel/clock.ts";

/** Maximum number of folders that one `FolderWatch` watches, unless its options say otherwise. */
const MAX_FOLDERS = 10_000;
/**
 * Interval of polling, in milliseconds. It is used where the file system raises no events: every folder is then
 * reported.
 */
const POLL_MS = 1_000;
/**
 * Delay of an additional event on macOS, in milliseconds. macOS starts the event stream a moment after `fs.watch`
 * returns, so changes may be missed before. The additional event covers them.
 */
const LATE_START_MS = 1_000;
/**
 * After this number of events, every folder is reported. Reason: Linux drops events silently when 16,384 of them are
 * queued (`fs.inotify.max_queued_events`). All watches of the process share that queue. After a loss, the queued events
 * are still delivered. So at least one report of every folder comes after each lost event.
 */
const MAX_TRUSTED_EVENTS = 8_192;

export interface FolderEvent {
  /** Path of the folder as it was given to `arm`. */
  readonly folder: string;
  /**
   * Name of the changed entry, if known. Use it only to skip irrelevant entries, because one event may stand for
   * several changes.
   */
  readonly name: string | undefined;
  /**
   * True if an entry may have been created, removed or replaced. False if only the content or the attributes of an
   * existing entry changed.
   */
  readonly isStructural: boolean;
}

export interface FolderWatchOptions {
  readonly clock: Clock;
  /** Called when entries of a folder may have changed. Called immediately, without debouncing. */
  readonly onEvent: (event: FolderEvent) => void;
  /** Called with a user message when a folder cannot be watched. Called once for each kind of failure. */
  readonly onProblem: (message: string) => void;
  /** Default 10,000. */
  readonly maxFolders?: number;
}

/**
 * Outcome of `FolderWatch.arm`.
 * - `armed`: further changes raise events. The caller must read the current state now.
 * - `kept`: the folder was already watched.
 * - `missing`: there is no such folder.
 * - `failed`: the folder cannot be watched; `onProblem` has been called.
 */
export type ArmOutcome = "armed" | "kept" | "missing" | "failed";

interface ArmedFolder {
  readonly identity: string;
  readonly stop: () => void;
  /** True if the folder itself may have been removed or renamed. Its watch may then raise no more events. */
  isStale: boolean;
}

/**
 * Watches folders. Sub-folders are not watched with their parents. A watch reports only that a folder may have changed,
 * not what has changed. So the caller arms a folder first and reads it afterwards. Each change is then either seen by
 * that read or raises an event.
 */
export class FolderWatch {
  static readonly #instances = new Set<FolderWatch>();
  static #eventsSinceReportOfAll = 0;
  readonly #options: FolderWatchOptions;
  readonly #maxFolders: number;
  readonly #armed = new Map<string, ArmedFolder>();
  readonly #reported = new Set<string>();
  readonly #polls = isPollingRequested(process.env.CHOKIDAR_USEPOLLING);
  #stopPolling = (): void => {};
  #closed = false;

  constructor(options: FolderWatchOptions) {
    this.#options = options;
    this.#maxFolders = options.maxFolders ?? MAX_FOLDERS;
    if (this.#polls) this.#stopPolling = every(options.clock, POLL_MS, () => this.#reportAll());
    FolderWatch.#instances.add(this);
  }

  /**
   * Watches a folder, unless it is watched already. `identity` distinguishes folders at the same path (see
   * `folderIdentity`). The caller must read it before the call. If the folder is replaced in between, its identity
   * differs at the next scan, and the new folder is armed.
   */
  arm(folder: string, identity: string): ArmOutcome {
    if (this.#closed) return "failed";
    const former = this.#armed.get(folder);
    if (former !== undefined && former.identity === identity && !former.isStale) return "kept";
    this.disarm(folder);
    if (this.#armed.size >= this.#maxFolders) {
      this.#report(
        "limit",
        `not all file changes are detected: more than ${this.#maxFolders} folders; add those without sources to watch.ignore`,
      );
      return "failed";
    }
    try {
      this.#armed.set(folder, this.#start(folder, identity));
      return "armed";
    } catch (error) {
      if (isMissing(error)) return "missing";
      this.#report((error as NodeJS.ErrnoException).code ?? "", watchProblem(error));
      return "failed";
    }
  }

  /** Stops watching one folder. Does nothing if it is not watched. */
  disarm(folder: string): void {
    this.#armed.get(folder)?.stop();
    this.#armed.delete(folder);
  }

  /** Stops all watches. No callback is called afterwards. */
  close(): void {
    this.#closed = true;
    FolderWatch.#instances.delete(this);
    this.#stopPolling();
    for (const folder of [...this.#armed.keys()]) this.disarm(folder);
  }

  static #countEvent(): void {
    FolderWatch.#eventsSinceReportOfAll += 1;
    if (FolderWatch.#eventsSinceReportOfAll < MAX_TRUSTED_EVENTS) return;
    FolderWatch.#eventsSinceReportOfAll = 0;
    for (const instance of [...FolderWatch.#instances]) {
      // Arm all folders again, because a lost event may be the removal of a folder.
      for (const armed of instance.#armed.values()) armed.isStale = true;
      instance.#reportAll();
    }
  }

  #start(folder: string, identity: string): ArmedFolder {
    if (this.#polls) return { identity, isStale: false, stop: () => {} };
    const watcher = watch(folder, { persistent: false }, (type, name) => {
      // This event may be about the folder itself. Its name is then the name of the folder. An entry may have the same
      // name, so the name is ignored.
      if (type === "rename") armed.isStale = true;
      const isNamed = name !== null && name !== basename(folder);
      this.#emit({ folder, name: isNamed ? name : undefined, isStructural: type === "rename" });
      FolderWatch.#countEvent();
    });
    const cancelLateEvent =
      process.platform === "darwin" ? this.#options.clock.after(LATE_START_MS, () => this.#emit({ folder })) : () => {};
    const stop = (): void => {
      cancelLateEvent();
      watcher.close();
    };
    const armed: ArmedFolder = { identity, stop, isStale: false };
    // When this event is raised, the watcher has already closed itself.
    watcher.on("error", (error) => {
      if (this.#armed.get(folder) !== armed) return;
      this.disarm(folder);
      if (!isMissing(error)) this.#report((error as NodeJS.ErrnoException).code ?? "", watchProblem(error));
      this.#emit({ folder });
    });
    return armed;
  }

  #reportAll(): void {
    for (const folder of [...this.#armed.keys()]) this.#emit({ folder });
  }

  #emit({
    folder,
    name,
    isStructural = true,
  }: {
    readonly folder: string;
    readonly name?: string | undefined;
    readonly isStructural?: boolean;
  }): void {
    if (!this.#closed) this.#options.onEvent({ folder, name, isStructural });
  }

  #report(kind: string, message: string): void {
    if (this.#closed || this.#reported.has(kind)) return;
    this.#reported.add(kind);
    this.#options.onProblem(message);
  }
}

/** Returns an identity that distinguishes a folder from earlier and later folders at the same path. */
export function folderIdentity({ dev, ino }: { readonly dev: number | bigint; readonly ino: number | bigint }): string {
  return `${dev}:${ino}`;
}

/** Returns the user message for an error that prevents watching. It says what to do, if that is known. */
export function watchProblem(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC")
    return "file changes are not detected: the system's limit of watched files is reached; raise it with: sudo sysctl fs.inotify.max_user_watches=524288";
  if (code === "EMFILE")
    return "file changes are not detected: the limit of open files is reached; raise it with: ulimit -n 65536";
  return `file changes are not detected: ${message}`;
}

/** True if an error says that there is no such file or folder. */
export function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}

/**
 * True if the environment variable of the library chokidar requests polling. Users often set it for all tools if their
 * file system raises no events.
 */
function isPollingRequested(value: string | undefined): boolean {
  return value !== undefined && !["", "0", "false"].includes(value.toLowerCase());
}
