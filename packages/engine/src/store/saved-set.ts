import { appendFileSync, closeSync, openSync, rmSync } from "node:fs";
import { readdir, readFile, rename, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import { replaceWhole } from "./whole-file.ts";

const RETRY_MS = 5_000;
/** Number of entries in one piece of the file's text. */
const ENTRIES_PER_PIECE = 500;
/** Maximum characters of a broken entry in a message. */
const MAX_QUOTED = 256;
/** Maximum size of a file that is read, in bytes. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Files of earlier versions have the member `bindings` instead of `entries`. */
const fileSchema = z.union([
  z.object({ version: z.literal(1), entries: z.array(z.string()) }),
  z
    .object({ version: z.literal(1), bindings: z.array(z.string()) })
    .transform(({ bindings }) => ({ entries: bindings })),
]);

export interface SavedSetOptions {
  readonly file: string;
  /** Name of the set in messages, e.g. "the list of state triggers". */
  readonly what: string;
  /** Returns true if a text is a valid entry. A file with other texts is damaged. Default: every text is valid. */
  readonly isEntry?: (text: string) => boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Yields the file's content in pieces, because a long string at each save would grow the heap permanently. Entries may
 * be added and removed between two pieces.
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

/** Schema of a line of the file of changes: the operation and the entry. */
const changeSchema = z.tuple([z.enum(["add", "remove"]), z.string()]);
type Change = z.output<typeof changeSchema>;

/**
 * A persistent set of strings. Each change is appended to a second file, `<name>.changes`, before `add` or `remove`
 * returns, so it survives a crash of the process. Soon afterwards the main file is replaced and synced, and the second
 * file is removed. From then on the change also survives a power cut. This class never creates the folder.
 */
export class SavedSet {
  readonly #options: SavedSetOptions;
  readonly #entries = new Set<string>();
  #dirty = false;
  /** Reason why the last write failed. */
  #failure: string | undefined;
  /**
   * Descriptor of the file of changes. It is open from the first change until the main file is saved, or until an
   * append or a save fails.
   */
  #changes: number | undefined;
  #changesBytes = 0;
  #saving: Promise<void> | undefined;
  #closed = false;
  /** Path of a file of an earlier run that cannot be read; undefined if there is none. */
  #damagedFile: string | undefined;
  #cancelRetry = (): void => {};

  constructor(options: SavedSetOptions) {
    this.#options = options;
  }

  /**
   * Returns the entries of the last run. If the file cannot be read, renames it to `<name>.damaged-<time>` and returns
   * only the entries of the file of changes.
   */
  async load(): Promise<readonly string[]> {
    const { file, what, log } = this.#options;
    let cause: unknown;
    try {
      const { size } = await stat(file);
      if (size > MAX_FILE_BYTES) throw new Error(`the file has ${size} bytes; at most ${MAX_FILE_BYTES} are read`);
      const { entries } = fileSchema.parse(JSON.parse(await readFile(file, "utf8")));
      const broken = entries.find((entry) => !this.#isEntry(entry));
      if (broken !== undefined)
        throw new Error(`the file has an entry that cannot be read: ${JSON.stringify(broken.slice(0, MAX_QUOTED))}`);
      for (const entry of entries) this.#entries.add(entry);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") {
        cause = error;
        await this.#renameDamaged();
      }
    }
    await this.#loadChanges();
    this.#damagedFile ??= await this.#findDamagedFile();
    if (this.#damagedFile !== undefined) {
      log.error(`${what} of an earlier run cannot be read; repair or delete the file and restart the engine`, {
        file: this.#damagedFile,
        error: cause,
      });
    }
    return [...this.#entries];
  }

  /** User message if changes cannot be saved at present; undefined otherwise. */
  get failure(): string | undefined {
    return this.#failure === undefined
      ? undefined
      : `${this.#options.what} cannot be saved at present: ${this.#failure}`;
  }

  /**
   * User message if the entries of an earlier run are unknown because their file cannot be read; undefined otherwise.
   * Does not change after `load`.
   */
  get problem(): string | undefined {
    const { file, what } = this.#options;
    if (this.#damagedFile === undefined) return undefined;
    return `${what} of an earlier run cannot be read: repair ${this.#damagedFile} and save it as ${basename(file)}, or delete it, and restart the engine`;
  }

  /**
   * Applies changes that a killed process did not save. Skips invalid lines, which a full disk or a power cut may
   * leave.
   */
  async #loadChanges(): Promise<void> {
    const { what, log } = this.#options;
    const file = this.#changesFile;
    let text: string;
    try {
      text = await readFile(file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      throw new Error(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
    }
    const lines = text.split("\n").filter((line) => line !== "");
    const changes = lines
      .map(changeOf)
      .filter((change) => change !== undefined)
      .filter(([, entry]) => this.#isEntry(entry));
    for (const [op, entry] of changes) {
      this.#entries.delete(entry);
      if (op === "add") this.#entries.add(entry);
    }
    const unread = lines.length - changes.length;
    if (unread > 0) log.warn(`some changes of ${what} cannot be read and are lost`, { file, count: unread });
    this.#saveSoon();
  }

  #isEntry(text: string): boolean {
    return this.#options.isEntry?.(text) ?? true;
  }

  get #changesFile(): string {
    return `${this.#options.file}.changes`;
  }

  async #renameDamaged(): Promise<void> {
    const { file, clock } = this.#options;
    const renamed = `${file}.damaged-${clock.now()}`;
    try {
      await rename(file, renamed);
      this.#damagedFile = renamed;
    } catch {
      // The file could not be renamed, so it must not be overwritten.
      this.#damagedFile = file;
    }
  }

  async #findDamagedFile(): Promise<string | undefined> {
    const { file } = this.#options;
    const names = await readdir(dirname(file)).catch((): string[] => []);
    const name = names.find((each) => each.startsWith(`${basename(file)}.damaged-`));
    return name === undefined ? undefined : join(dirname(file), name);
  }

  /** All entries, the oldest first. */
  get entries(): ReadonlySet<string> {
    return this.#entries;
  }

  /** Adds an entry or makes it the newest one. Only a new entry is saved. */
  add(entry: string): void {
    const isKnown = this.#entries.delete(entry);
    this.#entries.add(entry);
    if (!isKnown) this.#changed("add", entry);
  }

  remove(entry: string): void {
    if (this.#entries.delete(entry)) this.#changed("remove", entry);
  }

  /** Saves pending changes. */
  async close(): Promise<void> {
    this.#cancelRetry();
    await this.#saving;
    this.#closed = true;
    if (this.#dirty) await this.#save();
  }

  #changed(...change: Change): void {
    // The line break comes first, so that a line that a full disk truncated does not damage the next one.
    this.#append(`\n${JSON.stringify(change)}`);
    this.#saveSoon();
  }

  /** Appends without a sync. */
  #append(line: string): void {
    if (this.#damagedFile === this.#options.file) return;
    try {
      if (this.#changesBytes > MAX_FILE_BYTES)
        throw new Error(`${this.#changesFile} has more than ${MAX_FILE_BYTES} bytes`);
      this.#changes ??= openSync(this.#changesFile, "a", 0o600);
      this.#changesBytes += Buffer.byteLength(line);
      // appendFileSync writes the whole line or throws.
      appendFileSync(this.#changes, line);
    } catch (error) {
      this.#closeChanges();
      this.#failed(error);
    }
  }

  #closeChanges(): void {
    if (this.#changes !== undefined) closeSync(this.#changes);
    this.#changes = undefined;
  }

  #failed(error: unknown): void {
    const { file, what, log } = this.#options;
    if (this.#failure === undefined) log.warn(`${what} cannot be saved at present`, { file, error });
    this.#failure = error instanceof Error ? error.message : String(error);
  }

  #saveSoon(): void {
    this.#dirty = true;
    if (this.#closed || this.#saving !== undefined) return;
    // One save for all changes of this event loop turn.
    this.#saving = new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => this.#save())
      .finally(() => {
        this.#saving = undefined;
        if (this.#dirty) this.#cancelRetry = this.#options.clock.after(RETRY_MS, () => this.#saveSoon());
      });
  }

  async #save(): Promise<void> {
    const { file } = this.#options;
    if (this.#damagedFile === file) {
      this.#dirty = false;
      return;
    }
    try {
      while (this.#dirty) {
        this.#dirty = false;
        await replaceWhole(file, textOf(this.#entries));
      }
      // The main file now contains all changes.
      this.#closeChanges();
      rmSync(this.#changesFile, { force: true });
      this.#changesBytes = 0;
      this.#failure = undefined;
    } catch (error) {
      this.#dirty = true;
      // Close the file, because the folder may be replaced before the next change.
      this.#closeChanges();
      this.#failed(error);
    }
  }
}

function changeOf(line: string): Change | undefined {
  try {
    return changeSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
