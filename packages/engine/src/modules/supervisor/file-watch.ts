import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { type FSWatcher, watch } from "chokidar";
import type { Clock } from "../../kernel/clock.ts";

/** A file that is written anew is gone for a moment. */
const DEBOUNCE_MS = 300;

export interface FileWatchOptions {
  /** Absolute paths. */
  readonly files: readonly string[];
  readonly clock: Clock;
  /** Told the names of files whose content is another than before. */
  readonly onChange: (names: readonly string[]) => void;
  readonly onProblem: (message: string) => void;
}

/** Tells when single files change that lie outside of a worker's folder; those in it are watched with its sources. */
export class FileWatch {
  readonly #options: FileWatchOptions;
  readonly #watcher: FSWatcher;
  readonly #known = new Map<string, string | undefined>();
  #cancelDebounce = (): void => {};
  #work: Promise<void>;
  #closed = false;
  /** Resolves when changes from then on are noticed. */
  readonly ready: Promise<void>;

  constructor(options: FileWatchOptions) {
    this.#options = options;
    const files = new Set(options.files);
    const folders = [...new Set(options.files.map((file) => dirname(file)))];
    // Folders, not the files: a watch on a file stays with the old one when another is renamed over it.
    this.#watcher = watch(folders, { depth: 0, ignoreInitial: true, ignored: (path) => !folders.includes(resolve(path)) && !files.has(resolve(path)) });
    this.#watcher.on("all", () => this.#notice());
    this.#watcher.on("error", (error) => options.onProblem(`changes of files are not noticed: ${String(error)}`));
    this.ready = new Promise<void>((done) => this.#watcher.once("ready", () => done())).then(() => this.#rebase());
    this.#work = this.ready;
  }

  /** Takes the files as they are now as known. */
  async #rebase(): Promise<void> {
    for (const file of this.#options.files) this.#known.set(file, await digestOf(file));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelDebounce();
    await this.#watcher.close();
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
    const changed: string[] = [];
    for (const file of this.#options.files) {
      const now = await digestOf(file);
      if (now === this.#known.get(file)) continue;
      this.#known.set(file, now);
      changed.push(basename(file));
    }
    if (changed.length > 0 && !this.#closed) this.#options.onChange(changed);
  }
}

/** Undefined when it cannot be read: whoever uses it says why. */
async function digestOf(file: string): Promise<string | undefined> {
  const content = await readFile(file).catch(() => undefined);
  return content && createHash("sha256").update(content).digest("base64");
}
