import { realpathSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { watch } from "chokidar";
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

/** The watcher drops events that come within 50 ms of the last one, so each is followed by a look after that time too. */
const DROPPED_EVENTS_MS = 60;

type Content =
  | { readonly state: "text"; readonly text: string; readonly revision: string }
  | { readonly state: "unreadable"; readonly reason: string; readonly revision: undefined };

/**
 * Reports each change of a config file's content. Follows editors that write a new file and rename it, deletion and re-creation,
 * and a symbolic link to the file. Saves that change nothing are not reported.
 */
export function watchConfig(file: string, options: WatchOptions): ConfigWatch {
  const path = resolve(file);
  const follower = new Follower(path, options);
  const targets = new Set([path, realPathOf(path)]);
  const folders = [...new Set([...targets].map((target) => dirname(target)))];
  // Folders, not the file: a watch on a file stays with the old file when another is renamed over it.
  const watcher = watch(folders, {
    depth: 0,
    ignoreInitial: true,
    ignored: (candidate) => !folders.includes(resolve(candidate)) && !targets.has(resolve(candidate)),
  });
  watcher.on("all", (_event, changed) => {
    if (targets.has(resolve(changed))) follower.notice();
  });
  watcher.on("error", options.onError);
  let announceReady = (): void => {};
  const ready = new Promise<void>((fulfil) => {
    announceReady = fulfil;
  });
  watcher.once("ready", () => {
    // Whatever happened before the watch stood.
    follower.notice();
    announceReady();
  });
  return {
    ready,
    async close() {
      await Promise.all([watcher.close(), follower.stop()]);
      announceReady();
    },
  };
}

/** Waits for quiet, reads, compares, reports. */
class Follower {
  readonly #file: string;
  readonly #options: WatchOptions;
  readonly #clock: Clock;
  readonly #debounceMs: number;
  #known: string | undefined;
  #patience = PATIENT_ROUNDS;
  #owesSecondLook = false;
  #stopped = false;
  #cancel: () => void = () => {};
  #reports: Promise<void> = Promise.resolve();

  constructor(file: string, options: WatchOptions) {
    this.#file = file;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#debounceMs = options.debounceMs ?? DEFAULT_DEBOUNCE_MS;
    this.#known = options.revision ?? readContent(file).revision;
  }

  notice(): void {
    this.#patience = PATIENT_ROUNDS;
    this.#owesSecondLook = true;
    this.#lookAfter(this.#debounceMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#reports;
  }

  #lookAfter(ms: number): void {
    if (this.#stopped) return;
    this.#cancel();
    this.#cancel = this.#clock.after(ms, () => this.#look());
  }

  #look(): void {
    if (this.#owesSecondLook) {
      this.#owesSecondLook = false;
      this.#lookAfter(DROPPED_EVENTS_MS);
    }
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

/** The file behind a symbolic link; of a file that does not exist yet, the name under its folder's real path. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(realFolderOf(dirname(path)), basename(path));
  }
}

function realFolderOf(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}
