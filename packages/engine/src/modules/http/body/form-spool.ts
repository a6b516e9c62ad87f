import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../../kernel/logger.ts";
import { Refusal, unavailable } from "../refusal.ts";

/** Maximum size of all forms on the disk together, in bytes. */
const MAX_SPOOLED_BYTES = 4 * 1024 * 1024 * 1024;

/** Name of the folder in the engine's data folder. */
const FOLDER = "http-forms";

/** The folder for files of forms that do not fit in memory. */
export class FormSpools {
  readonly #folder: string;
  readonly #log: Logger;
  readonly #maxBytes: number;
  readonly #removals = new Set<Promise<void>>();
  #bytes = 0;

  /** Deletes files of a previous run that was killed. `maxBytes` is the limit of all spools together. */
  constructor(parts: { readonly dataDir: string; readonly log: Logger; readonly maxBytes?: number }) {
    this.#folder = join(parts.dataDir, FOLDER);
    this.#log = parts.log;
    this.#maxBytes = parts.maxBytes ?? MAX_SPOOLED_BYTES;
    try {
      rmSync(this.#folder, { recursive: true, force: true });
    } catch (error) {
      this.#log.warn("files of a previous run's forms could not be deleted", { folder: this.#folder, error });
    }
  }

  create(): FormSpool {
    return new FormSpool({
      folder: this.#folder,
      reserve: (bytes) => {
        if (this.#bytes + bytes > this.#maxBytes) {
          throw new Refusal(
            unavailable(
              "overloaded",
              `the forms being received use ${this.#maxBytes} bytes of the disk, which is the limit`,
            ),
          );
        }
        this.#bytes += bytes;
      },
      removed: (bytes, removal) => {
        this.#bytes -= bytes;
        const logged = removal.catch((error: unknown) =>
          this.#log.warn("the file of a form could not be removed", { folder: this.#folder, error }),
        );
        this.#removals.add(logged);
        void logged.then(() => this.#removals.delete(logged));
      },
    });
  }

  /** Resolves when the files of all removed spools are deleted. */
  async settled(): Promise<void> {
    await Promise.all(this.#removals);
  }
}

/**
 * A file on the disk that is written once, piece by piece, and read at any position. The file is created with the first
 * piece. Only the operating system's user that runs the engine can read it.
 */
export class FormSpool {
  readonly #path: string;
  readonly #folder: string;
  readonly #reserve: (bytes: number) => void;
  readonly #removed: (bytes: number, removal: Promise<void>) => void;
  #handle: Promise<FileHandle> | undefined;
  #size = 0;
  #isRemoved = false;

  constructor(parts: {
    readonly folder: string;
    readonly reserve: (bytes: number) => void;
    readonly removed: (bytes: number, removal: Promise<void>) => void;
  }) {
    this.#folder = parts.folder;
    this.#path = join(parts.folder, randomUUID());
    this.#reserve = parts.reserve;
    this.#removed = parts.removed;
  }

  /**
   * Appends the bytes. Returns their position in the file at once; `written` resolves when they are written. Throws or
   * rejects with 503.
   */
  append(bytes: Buffer): { readonly position: number; readonly written: Promise<void> } {
    this.#reserve(bytes.byteLength);
    const position = this.#size;
    this.#size += bytes.byteLength;
    return { position, written: this.#write(bytes, position) };
  }

  /** Rejects if the file was removed or is too short. */
  async read(position: number, length: number): Promise<Buffer> {
    const handle = await this.#handle;
    if (handle === undefined || this.#isRemoved) throw new Error("the form is over");
    const buffer = Buffer.allocUnsafe(length);
    for (let done = 0; done < length; ) {
      const { bytesRead } = await handle.read(buffer, done, length - done, position + done);
      if (bytesRead === 0) throw new Error(`the file of a form ends before its ${position + length} bytes`);
      done += bytesRead;
    }
    return buffer;
  }

  /** Deletes the file when the writes in progress have ended. A second call does nothing. */
  remove(): void {
    if (this.#isRemoved) return;
    this.#isRemoved = true;
    this.#removed(this.#size, this.#delete());
  }

  async #write(bytes: Buffer, position: number): Promise<void> {
    try {
      this.#handle ??= this.#create();
      const handle = await this.#handle;
      for (let done = 0; done < bytes.byteLength; ) {
        const { bytesWritten } = await handle.write(bytes, done, bytes.byteLength - done, position + done);
        done += bytesWritten;
      }
    } catch (cause) {
      throw new Refusal(
        unavailable(
          "storage_failed",
          "the files of the form could not be stored; the engine's log has the reason",
          cause,
        ),
      );
    }
  }

  async #create(): Promise<FileHandle> {
    // Not recursive, because a recursive call would create the data folder again if somebody has moved it away.
    await mkdir(this.#folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    return open(this.#path, "wx+", 0o600);
  }

  async #delete(): Promise<void> {
    if (this.#handle === undefined) return;
    let handle: FileHandle | undefined;
    try {
      handle = await this.#handle;
    } catch {
      // The file was never created, and the writer received the error.
      return;
    }
    await handle.close();
    await rm(this.#path, { force: true });
  }
}
