import type { FormSpool } from "./form-spool.ts";

/** How much is read from the disk at once, in bytes. */
const PIECE_BYTES = 64 * 1024;

/** What is in a file of a form: held in memory, or in stretches of the form's spool. */
export class FileContent {
  readonly #held: Buffer[] = [];
  readonly #stretches: { readonly position: number; length: number }[] = [];
  #spool: FormSpool | undefined;

  hold(bytes: Buffer): void {
    this.#held.push(bytes);
  }

  /** Moves what is held to the disk. Resolves when it is there; rejects with 503. */
  async spill(spool: FormSpool): Promise<void> {
    await Promise.all(this.#held.splice(0).map((bytes) => this.append(spool, bytes)));
  }

  /** Adds to what is on the disk. */
  append(spool: FormSpool, bytes: Buffer): Promise<void> {
    this.#spool = spool;
    let appended: ReturnType<FormSpool["append"]>;
    try {
      appended = spool.append(bytes);
    } catch (error) {
      return Promise.reject(error as Error);
    }
    const last = this.#stretches.at(-1);
    if (last !== undefined && last.position + last.length === appended.position) last.length += bytes.byteLength;
    else this.#stretches.push({ position: appended.position, length: bytes.byteLength });
    return appended.written;
  }

  /** Goes through it once, in pieces of any size. Throws when the disk fails or the form is over. */
  async *pieces(): AsyncGenerator<Buffer> {
    for (let bytes = this.#held.shift(); bytes !== undefined; bytes = this.#held.shift()) yield bytes;
    for (const { position, length } of this.#stretches) {
      for (let done = 0; done < length; done += PIECE_BYTES) {
        yield await (this.#spool as FormSpool).read(position + done, Math.min(PIECE_BYTES, length - done));
      }
    }
  }
}
