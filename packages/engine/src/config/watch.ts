import { resolve } from "node:path";
import { PathWatch } from "../file-events/path-watch.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { readConfigText, revisionOf } from "./load.ts";
import { ConfigError } from "./types.ts";

export type ConfigFileChange =
  /** New content. `revision` is the one that `loadConfig` gives to the same content. */
  | { readonly kind: "changed"; readonly revision: string }
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
/** A file that is suddenly empty or gone is often being written; it gets this many quiet times to come back. */
const PATIENT_ROUNDS = 5;

type Content =
  | { readonly state: "text"; readonly text: string; readonly revision: string }
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
  #patience = PATIENT_ROUNDS;
  #stopped = false;
  #cancel: () => void = () => {};
  #reports: Promise<void> = Promise.resolve();

  constructor(file: string, options: WatchOptions) {
    this.#file = file;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#debounceMs = options.debounceMs ?? DEFAULT_DEBOUNCE_MS;
    this.#known = options.revision ?? readContent(file).revision;
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
    if (content.revision === this.#known) return;
    const mayBeHalfWritten = content.state === "unreadable" || content.text.trim() === "";
    if (mayBeHalfWritten && this.#patience > 0) {
      this.#patience -= 1;
      this.#lookAfter(this.#debounceMs);
      return;
    }
    this.#known = content.revision;
    this.#report(content.state === "text" ? { kind: "changed", revision: content.revision } : { kind: "unreadable", reason: content.reason });
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
    return { state: "text", text, revision: revisionOf(text) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { state: "unreadable", reason: error.message, revision: undefined };
  }
}
