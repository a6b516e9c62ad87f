import { statSync } from "node:fs";
import { resolve } from "node:path";
import { PathWatch } from "../file-events/path-watch.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { readConfigText, revisionOf } from "./load.ts";
import { ConfigError } from "./types.ts";

export type ConfigFileChange =
  /** New content. `revision` is the one that `loadConfig` gives to the same content. */
  | { readonly kind: "changed"; readonly revision: string }
  /** Empty, cut off, or less than half of what it was: a program may be writing it. It is reported as `changed` if it stays so for `waitMs`. */
  | { readonly kind: "shrunk"; readonly waitMs: number }
  /** Gone, no file any more, or unreadable; `reason` says which, naming the file. It is watched for on. */
  | { readonly kind: "unreadable"; readonly reason: string };

export interface WatchOptions {
  /** Quiet time after the last event before the file is read, in milliseconds. Default 200. */
  readonly debounceMs?: number;
  /** The content already known, so that an edit between loading and watching is not lost. Default: that at the call. */
  readonly revision?: string;
  /** Called for each real change, one at a time. What it rejects with goes to `onError`. */
  readonly onChange: (change: ConfigFileChange) => void | Promise<void>;
  /** Watching failed, e.g. too many watches, or `onChange` did. Watching goes on where it can. */
  readonly onError: (error: unknown) => void;
  readonly clock?: Clock;
}

export interface ConfigWatch {
  /** Fulfils when edits are seen from now on. */
  readonly ready: Promise<void>;
  /** Stops. Fulfils when nothing will be called any more. */
  close(): Promise<void>;
}

const DEFAULT_DEBOUNCE_MS = 200;
/** A file that is gone or cannot be read is often being replaced; it gets this many quiet times to come back. */
const PATIENT_ROUNDS = 5;
/** How long a file that lost much of its text is left alone, in milliseconds: it may be cut off by an editor that writes, or by a full disk. */
const SHRUNK_MS = 5_000;

type Content =
  | { readonly state: "text"; readonly text: string; readonly revision: string; readonly identity: string }
  | { readonly state: "unreadable"; readonly reason: string; readonly revision: undefined };

/**
 * Reports each change of a config file's content. Follows editors that write a new file and rename it, deletion and re-creation,
 * and a symbolic link to the file. Saves that change nothing are not reported.
 */
export function watchConfig(file: string, options: WatchOptions): ConfigWatch {
  const follower = new Follower(resolve(file), options);
  // Whatever happened before it was watched.
  follower.notice();
  return { ready: Promise.resolve(), close: () => follower.stop() };
}

/** Waits for quiet, reads, compares, reports. */
class Follower {
  readonly #file: string;
  readonly #options: WatchOptions;
  readonly #clock: Clock;
  readonly #debounceMs: number;
  readonly #watch: PathWatch;
  #known: string | undefined;
  /** The last text that was reported. */
  #taken: Extract<Content, { readonly state: "text" }> | undefined;
  /** The revision of a text that lost much, and since when it stands (monotonic). */
  #shrunk: { readonly revision: string; readonly sinceMs: number } | undefined;
  #patience = PATIENT_ROUNDS;
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
    if (content.state === "text" && content.revision === this.#known) this.#taken = content;
    const onProblem = (message: string): void => options.onError(new Error(message));
    this.#watch = new PathWatch({ paths: [file], clock: this.#clock, onEvent: () => this.notice(), onProblem });
    this.#watch.arm();
  }

  notice(): void {
    this.#patience = PATIENT_ROUNDS;
    this.#lookAfter(this.#debounceMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    this.#watch.close();
    await this.#reports;
  }

  #lookAfter(ms: number): void {
    if (this.#stopped) return;
    this.#cancel();
    this.#cancel = this.#clock.after(ms, () => this.#look());
  }

  #look(): void {
    // Armed first, so that a change after the read raises an event.
    this.#watch.arm();
    const content = readContent(this.#file);
    if (content.revision === this.#known) {
      this.#shrunk = undefined;
      return;
    }
    if (content.state === "unreadable") {
      if (this.#patience > 0) {
        this.#patience -= 1;
        this.#lookAfter(this.#debounceMs);
        return;
      }
      this.#known = undefined;
      this.#report({ kind: "unreadable", reason: content.reason });
      return;
    }
    if (this.#mayBeCutOff(content) && !this.#hasStood(content.revision)) return;
    this.#shrunk = undefined;
    this.#taken = content;
    this.#known = content.revision;
    this.#report({ kind: "changed", revision: content.revision });
  }

  /** A file that was put in the place of the former one is whole; one that was written in place may lack its end. */
  #mayBeCutOff({ text, identity }: Extract<Content, { readonly state: "text" }>): boolean {
    if (text.trim() === "") return true;
    if (identity !== this.#taken?.identity) return false;
    const before = this.#taken.text;
    if (text.length >= before.length) return false;
    // Of a text that is written in parts, the last line usually lacks its end.
    return text.length * 2 < before.length || before.startsWith(text) || (before.endsWith("\n") && !text.endsWith("\n"));
  }

  /** Whether the text has stood long enough; asks again when it will have. */
  #hasStood(revision: string): boolean {
    const now = this.#clock.monotonic();
    if (this.#shrunk?.revision !== revision) {
      this.#shrunk = { revision, sinceMs: now };
      this.#report({ kind: "shrunk", waitMs: SHRUNK_MS });
    }
    const leftMs = this.#shrunk.sinceMs + SHRUNK_MS - now;
    if (leftMs > 0) this.#lookAfter(leftMs);
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

/** The number of a removed file may be given to the next one; the time of its making tells them apart. */
function identityOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? "" : `${stats.dev}:${stats.ino}:${stats.birthtimeMs}`;
}
