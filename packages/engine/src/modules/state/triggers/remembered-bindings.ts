import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";

const RETRY_MS = 5_000;
/** Largest file that is read: 10,000 bindings with configs of a few KiB. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

const fileSchema = z.object({ version: z.literal(1), bindings: z.array(z.string()) });

/**
 * The bindings that there were, by their keys, in a file: after a crash some workers write before others have bound their functions again, and what they
 * write is to be told to those too. The file is replaced as a whole, soon after a change.
 */
export class RememberedBindings {
  readonly #file: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #keys = new Set<string>();
  #dirty = false;
  #isFailing = false;
  #saving: Promise<void> | undefined;
  #closed = false;
  #cancelRetry = (): void => {};

  constructor(options: { readonly file: string; readonly clock: Clock; readonly log: Logger }) {
    this.#file = options.file;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Keys of the bindings that there were at the end of the last run. A file that cannot be read is none; it is said in the log. */
  async load(): Promise<readonly string[]> {
    try {
      const text = await readFile(this.#file, "utf8");
      if (text.length > MAX_FILE_BYTES) throw new Error(`the file has more than ${MAX_FILE_BYTES} bytes`);
      for (const key of fileSchema.parse(JSON.parse(text)).bindings) this.#keys.add(key);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") {
        this.#log.warn("the list of state triggers of the last run cannot be read; what is written before they are registered again is not told to them", {
          file: this.#file,
          error,
        });
      }
    }
    return [...this.#keys];
  }

  add(key: string): void {
    if (this.#keys.has(key)) return;
    this.#keys.add(key);
    this.#saveSoon();
  }

  remove(key: string): void {
    if (this.#keys.delete(key)) this.#saveSoon();
  }

  /** Saves what is not saved yet. */
  async close(): Promise<void> {
    this.#cancelRetry();
    await this.#saving;
    this.#closed = true;
    if (this.#dirty) await this.#save();
  }

  #saveSoon(): void {
    this.#dirty = true;
    if (this.#closed || this.#saving !== undefined) return;
    // Bindings come in crowds: one save for all of this turn.
    this.#saving = new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => this.#save())
      .finally(() => {
        this.#saving = undefined;
        if (this.#dirty) this.#cancelRetry = this.#clock.after(RETRY_MS, () => this.#saveSoon());
      });
  }

  async #save(): Promise<void> {
    const temporary = `${this.#file}.new`;
    try {
      while (this.#dirty) {
        this.#dirty = false;
        await mkdir(dirname(this.#file), { recursive: true });
        const file = await open(temporary, "w", 0o600);
        try {
          await file.writeFile(JSON.stringify({ version: 1, bindings: [...this.#keys] }));
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(temporary, this.#file);
        this.#isFailing = false;
      }
    } catch (error) {
      this.#dirty = true;
      if (!this.#isFailing) this.#log.warn("the list of state triggers cannot be saved at present", { file: this.#file, error });
      this.#isFailing = true;
      await rm(temporary, { force: true }).catch(() => {});
    }
  }
}
