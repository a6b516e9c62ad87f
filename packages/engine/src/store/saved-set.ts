import { readdir, readFile, rename, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import { replaceWhole } from "./whole-file.ts";

const RETRY_MS = 5_000;
/** Entries in one piece of the file's text. */
const ENTRIES_PER_PIECE = 500;
/** Maximum size of a file that is read, in bytes. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** `bindings` is the name of the member that versions before had. */
const fileSchema = z.union([
  z.object({ version: z.literal(1), entries: z.array(z.string()) }),
  z.object({ version: z.literal(1), bindings: z.array(z.string()) }).transform(({ bindings }) => ({ entries: bindings })),
]);

export interface SavedSetOptions {
  readonly file: string;
  /** What the entries are, for the log, e.g. "the list of state triggers". */
  readonly what: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Yields the text of the file in pieces: a long text at each save makes the heap grow, and the memory stays with the process. Entries may be added and
 * removed between two pieces.
 */
function* textOf(entries: Iterable<string>): Generator<string> {
  yield '{"version":1,"entries":[';
  let separator = "";
  let piece: string[] = [];
  for (const entry of entries) {
    if (piece.length === ENTRIES_PER_PIECE) {
      yield separator + membersOf(piece);
      separator = ",";
      piece = [];
    }
    piece.push(entry);
  }
  yield `${separator}${membersOf(piece)}]}`;
}

function membersOf(piece: readonly string[]): string {
  return JSON.stringify(piece).slice(1, -1);
}

/** A set of strings in a file, for what must be known after a crash. The whole file is replaced soon after a change. */
export class SavedSet {
  readonly #options: SavedSetOptions;
  readonly #entries = new Set<string>();
  #dirty = false;
  #isFailing = false;
  #saving: Promise<void> | undefined;
  #closed = false;
  /** File of an earlier run that could not be read and is still there. */
  #damagedFile: string | undefined;
  #cancelRetry = (): void => {};

  constructor(options: SavedSetOptions) {
    this.#options = options;
  }

  /** Returns the entries of the last run. Renames the file to `<name>.damaged-<time>` and returns no entries if it cannot be read. */
  async load(): Promise<readonly string[]> {
    const { file, what, log } = this.#options;
    let cause: unknown;
    try {
      const { size } = await stat(file);
      if (size > MAX_FILE_BYTES) throw new Error(`the file has ${size} bytes; at most ${MAX_FILE_BYTES} are read`);
      for (const entry of fileSchema.parse(JSON.parse(await readFile(file, "utf8"))).entries) this.#entries.add(entry);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") {
        cause = error;
        await this.#setAside();
      }
    }
    this.#damagedFile ??= await this.#findDamagedFile();
    if (this.#damagedFile !== undefined) {
      log.error(`${what} of an earlier run cannot be read; repair or delete the file and restart the engine`, { file: this.#damagedFile, error: cause });
    }
    return [...this.#entries];
  }

  /** What is wrong and what to do, if entries of an earlier run are unknown because their file cannot be read. Does not change after `load`. */
  get problem(): string | undefined {
    const { file, what } = this.#options;
    if (this.#damagedFile === undefined) return undefined;
    return `${what} of an earlier run cannot be read: repair ${this.#damagedFile} and save it as ${basename(file)}, or delete it, and restart the engine`;
  }

  async #setAside(): Promise<void> {
    const { file, clock } = this.#options;
    const aside = `${file}.damaged-${clock.now()}`;
    try {
      await rename(file, aside);
      this.#damagedFile = aside;
    } catch {
      // It stays where it is and is not overwritten.
      this.#damagedFile = file;
    }
  }

  async #findDamagedFile(): Promise<string | undefined> {
    const { file } = this.#options;
    const names = await readdir(dirname(file)).catch((): string[] => []);
    const name = names.find((each) => each.startsWith(`${basename(file)}.damaged-`));
    return name === undefined ? undefined : join(dirname(file), name);
  }

  /** The oldest first. */
  get entries(): ReadonlySet<string> {
    return this.#entries;
  }

  /** Adds the entry as the newest one. Saves it unless it is there already. */
  add(entry: string): void {
    const isKnown = this.#entries.delete(entry);
    this.#entries.add(entry);
    if (!isKnown) this.#saveSoon();
  }

  remove(entry: string): void {
    if (this.#entries.delete(entry)) this.#saveSoon();
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
    // Changes come in crowds: one save for all of this turn.
    this.#saving = new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => this.#save())
      .finally(() => {
        this.#saving = undefined;
        if (this.#dirty) this.#cancelRetry = this.#options.clock.after(RETRY_MS, () => this.#saveSoon());
      });
  }

  async #save(): Promise<void> {
    const { file, what, log } = this.#options;
    if (this.#damagedFile === file) {
      this.#dirty = false;
      return;
    }
    try {
      while (this.#dirty) {
        this.#dirty = false;
        await replaceWhole(file, textOf(this.#entries));
        this.#isFailing = false;
      }
    } catch (error) {
      this.#dirty = true;
      if (!this.#isFailing) log.warn(`${what} cannot be saved at present`, { file, error });
      this.#isFailing = true;
    }
  }
}
