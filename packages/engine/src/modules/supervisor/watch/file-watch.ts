import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { PathWatch } from "../../../file-events/path-watch.ts";
import type { Clock } from "../../../kernel/clock.ts";

/** Time from the last event to the comparison. A file may be missing for a moment while it is replaced. */
const DEBOUNCE_MS = 300;

export interface FileWatchOptions {
  /** Absolute paths. Files may be missing, and symbolic links are followed. */
  readonly files: readonly string[];
  readonly clock: Clock;
  /** Called with the names of files whose content has changed. */
  readonly onChange: (names: readonly string[]) => void;
  /** Called with a message for the user about what keeps files from being watched. */
  readonly onProblem: (message: string) => void;
}

/** Reports changes of single files outside of a worker's folder. Files in the folder are watched with its sources. */
export class FileWatch {
  readonly #options: FileWatchOptions;
  readonly #watch: PathWatch;
  readonly #known = new Map<string, string | undefined>();
  #cancelDebounce = (): void => {};
  #work: Promise<void>;
  #closed = false;
  /** Resolves when the reference content has been read. Later changes are compared with it. */
  readonly ready: Promise<void>;

  constructor(options: FileWatchOptions) {
    this.#options = options;
    const { files, clock, onProblem } = options;
    this.#watch = new PathWatch({ paths: files, clock, onEvent: () => this.#notice(), onProblem });
    this.ready = this.#changes().then(() => {});
    this.#work = this.ready;
  }

  /** Stops watching. Nothing is called afterwards. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelDebounce();
    this.#watch.close();
    await this.#work;
  }

  #notice(): void {
    if (this.#closed) return;
    this.#cancelDebounce();
    this.#cancelDebounce = this.#options.clock.after(DEBOUNCE_MS, () => {
      this.#work = this.#work.then(() => this.#compare());
    });
  }

  async #compare(): Promise<void> {
    const changed = await this.#changes();
    if (changed.length > 0 && !this.#closed) this.#options.onChange(changed);
  }

  /** Returns the names of files whose content has changed since the last call. */
  async #changes(): Promise<string[]> {
    // Arm the watch before reading, so that a change after the read raises an event.
    this.#watch.arm();
    const changed: string[] = [];
    for (const file of this.#options.files) {
      const now = await digestOf(file);
      if (this.#known.has(file) && now === this.#known.get(file)) continue;
      this.#known.set(file, now);
      changed.push(basename(file));
    }
    return changed;
  }
}

/** Returns undefined if the file cannot be read. The code that uses the file reports the reason. */
async function digestOf(file: string): Promise<string | undefined> {
  const content = await readFile(file).catch(() => undefined);
  return content && createHash("sha256").update(content).digest("base64");
}
