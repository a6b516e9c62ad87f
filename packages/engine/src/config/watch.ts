import { statSync } from "node:fs";
import { resolve } from "node:path";
import { PathWatch } from "../file-events/path-watch.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { readConfigText, revisionOf } from "./load.ts";
import { ConfigError } from "./types.ts";

export type ConfigFileChange =
  /** The file has new content. `revision` is the revision that `loadConfig` returns for this content. */
  | { readonly kind: "changed"; readonly revision: string }
  /**
   * The file is empty, truncated or less than half its size, so a program may still be writing it. If the content does
   * not change for `waitMs`, it is reported as `changed`.
   */
  | { readonly kind: "shrunk"; readonly waitMs: number }
  /**
   * The file was removed, is not a regular file, or cannot be read. `reason` is a message with the file's name.
   * Watching continues.
   */
  | { readonly kind: "unreadable"; readonly reason: string };

export interface WatchOptions {
  /** Quiet time after the last event before the file is read, in milliseconds. Default 200. */
  readonly debounceMs?: number;
  /**
   * Revision of the content that is already loaded, so that an edit between loading and watching is detected. Default:
   * the revision of the present content.
   */
  readonly revision?: string;
  /** Called for each change of the content, one at a time. Rejections go to `onError`. */
  readonly onChange: (change: ConfigFileChange) => void | Promise<void>;
  /**
   * Called if watching failed, e.g. because of too many watches, or if `onChange` rejected. Watching continues if
   * possible.
   */
  readonly onError: (error: unknown) => void;
  readonly clock?: Clock;
}

export interface ConfigWatch {
  /** Resolves when all further edits are detected. */
  readonly ready: Promise<void>;
  /** Stops watching. Resolves when no callback will be called any more. */
  close(): Promise<void>;
}

const DEFAULT_DEBOUNCE_MS = 200;
/**
 * Number of debounce intervals before a missing or unreadable file is reported. It is not reported earlier, because the
 * file is often just being replaced.
 */
const UNREADABLE_RETRIES = 5;
/**
 * How long a shrunk file must stay unchanged before it is reported as `changed`, in milliseconds. The wait is needed
 * because an editor that is still writing, or a full disk, may have truncated the file.
 */
const SHRUNK_MS = 5_000;

type Content =
  | { readonly state: "text"; readonly text: string; readonly revision: string; readonly identity: string }
  | { readonly state: "unreadable"; readonly reason: string; readonly revision: undefined };

/**
 * Reports each change of a config file's content. Follows editors that write a new file and rename it, deletion and
 * re-creation, and a symbolic link to the file. Saves that change nothing are not reported.
 */
export function watchConfig(file: string, options: WatchOptions): ConfigWatch {
  const watcher = new ConfigFileWatcher(resolve(file), options);
  // Detects an edit that happened before the watch started.
  watcher.notice();
  return { ready: Promise.resolve(), close: () => watcher.stop() };
}

/** Debounces events, then reads the file, compares it and reports changes. */
class ConfigFileWatcher {
  readonly #file: string;
  readonly #options: WatchOptions;
  readonly #clock: Clock;
  readonly #debounceMs: number;
  readonly #watch: PathWatch;
  #known: string | undefined;
  /** The last text that was reported. */
  #lastReported: Extract<Content, { readonly state: "text" }> | undefined;
  /** Revision of a shrunk text, and the monotonic time at which it was first seen. */
  #shrunk: { readonly revision: string; readonly sinceMs: number } | undefined;
  #retriesLeft = UNREADABLE_RETRIES;
  #stopped = false;
  #cancel: () => void = () => {};
  #reports: Promise<void> = Promise.resolve();

  constructor(file: string, options: WatchOptions) {
    this.#file = file;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#debounceMs = options.debounceMs ?? DEFAULT_DEBOUNCE_MS;
    const content = readContent(file);
    this.#known = options.revision ?? content.revision;
    if (content.state === "text" && content.revision === this.#known) this.#lastReported = content;
    const onProblem = (message: string): void => options.onError(new Error(message));
    this.#watch = new PathWatch({ paths: [file], clock: this.#clock, onEvent: () => this.notice(), onProblem });
    this.#watch.arm();
  }

  notice(): void {
    this.#retriesLeft = UNREADABLE_RETRIES;
    this.#checkAfter(this.#debounceMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    this.#watch.close();
    await this.#reports;
  }

  #checkAfter(ms: number): void {
    if (this.#stopped) return;
    this.#cancel();
    this.#cancel = this.#clock.after(ms, () => this.#check());
  }

  #check(): void {
    // Arm the watch first, so that a change after the read raises an event.
    this.#watch.arm();
    const content = readContent(this.#file);
    if (content.revision === this.#known) {
      this.#shrunk = undefined;
      return;
    }
    if (content.state === "unreadable") {
      if (this.#retriesLeft > 0) {
        this.#retriesLeft -= 1;
        this.#checkAfter(this.#debounceMs);
        return;
      }
      this.#known = undefined;
      this.#report({ kind: "unreadable", reason: content.reason });
      return;
    }
    if (this.#mayBeTruncated(content) && !this.#isStable(content.revision)) return;
    this.#shrunk = undefined;
    this.#lastReported = content;
    this.#known = content.revision;
    this.#report({ kind: "changed", revision: content.revision });
  }

  /**
   * True if the content may be incomplete. A file that replaced the previous file is complete. A file that was written
   * in place may still be incomplete.
   */
  #mayBeTruncated({ text, identity }: Extract<Content, { readonly state: "text" }>): boolean {
    if (text.trim() === "") return true;
    if (identity !== this.#lastReported?.identity) return false;
    const before = this.#lastReported.text;
    if (text.length >= before.length) return false;
    // A partly written text usually ends within a line.
    return (
      text.length * 2 < before.length || before.startsWith(text) || (before.endsWith("\n") && !text.endsWith("\n"))
    );
  }

  /** True if the shrunk text has not changed for `SHRUNK_MS`. Otherwise schedules another check. */
  #isStable(revision: string): boolean {
    const now = this.#clock.monotonic();
    if (this.#shrunk?.revision !== revision) {
      this.#shrunk = { revision, sinceMs: now };
      this.#report({ kind: "shrunk", waitMs: SHRUNK_MS });
    }
    const leftMs = this.#shrunk.sinceMs + SHRUNK_MS - now;
    if (leftMs > 0) this.#checkAfter(leftMs);
    return leftMs <= 0;
  }

  #report(change: ConfigFileChange): void {
    this.#reports = this.#reports.then(async () => {
      if (this.#stopped) return;
      try {
        await this.#options.onChange(change);
      } catch (error) {
        this.#options.onError(error);
      }
    });
  }
}

function readContent(file: string): Content {
  try {
    const text = readConfigText(file);
    return { state: "text", text, revision: revisionOf(text), identity: identityOf(file) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { state: "unreadable", reason: error.message, revision: undefined };
  }
}

/**
 * Returns the identity of the file. It includes the birth time, because the inode number of a removed file may be
 * reused.
 */
function identityOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? "" : `${stats.dev}:${stats.ino}:${stats.birthtimeMs}`;
}
