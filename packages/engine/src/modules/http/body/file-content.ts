import type { FormSpool } from "./form-spool.ts";

/** Bytes per read from the disk. */
const PIECE_BYTES = 64 * 1024;

/** The content of a form's file: in memory, or in ranges of the form's spool. */
export class FileContent {
  readonly #held: Buffer[] = [];
  readonly #ranges: { readonly position: number; length: number }[] = [];
  #spool: FormSpool | undefined;

  hold(bytes: Buffer): void {
    this.#held.push(bytes);
  }

  /** Moves the content in memory to the disk. Resolves when it is written; rejects with 503. */
  async spill(spool: FormSpool): Promise<void> {
    await Promise.all(this.#held.splice(0).map((bytes) => this.append(spool, bytes)));
  }

  /** Appends to the content on the disk. */
  append(spool: FormSpool, bytes: Buffer): Promise<void> {
    this.#spool = spool;
    let appended: ReturnType<FormSpool["append"]>;
    try {
      appended = spool.append(bytes);
    } catch (error) {
      return Promise.reject(error as Error);
    }
    const last = this.#ranges.at(-1);
    if (last !== undefined && last.position + last.length === appended.position) last.length += bytes.byteLength;
    else this.#ranges.push({ position: appended.position, length: bytes.byteLength });
    return appended.written;
  }

  /** Yields the content once, in pieces of any size. Throws if the disk fails or the form was discarded. */
  async *pieces(): AsyncGenerator<Buffer> {
    for (let bytes = this.#held.shift(); bytes !== undefined; bytes = this.#held.shift()) yield bytes;
    for (const { position, length } of this.#ranges) {
      for (let done = 0; done < length; done += PIECE_BYTES) {
        yield await (this.#spool as FormSpool).read(position + done, Math.min(PIECE_BYTES, length - done));
      }
    }
  }
}
