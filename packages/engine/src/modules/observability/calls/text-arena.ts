/** Bytes of one chunk: some eighty calls. Who keeps a call longer than those around it unpacks it, since one call keeps its chunk. */
const CHUNK_BYTES = 32 * 1024;
/** Bytes of UTF-8 for one character of a string, at most. */
const BYTES_PER_CHARACTER = 3;

/**
 * Texts of calls that have ended, outside the heap. Thousands of calls are kept for a while, and as strings each would be some ten objects that the garbage
 * collector copies twice: that cost more than all the rest of recording.
 */
export class TextArena {
  /** Where the last text was written. */
  chunk: Buffer = Buffer.alloc(0);
  start = 0;
  #end = 0;

  /** Longest that `write` takes, in characters. */
  static readonly maxLength = 2_400;

  /** Writes both, one after the other, and returns how many bytes the first one took; `chunk` and `start` tell where, `length` of both. */
  write(first: string, second: string): number {
    if (this.#end + (first.length + second.length) * BYTES_PER_CHARACTER > this.chunk.length) {
      this.chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      this.#end = 0;
    }
    const { chunk } = this;
    this.start = this.#end;
    // Mostly all of it is ASCII, which is seen from the number of bytes.
    const written = chunk.write(first + second, this.#end, "utf8");
    this.#end += written;
    return written === first.length + second.length ? first.length : Buffer.byteLength(first);
  }

  /** Of what was written last, in bytes. */
  get length(): number {
    return this.#end - this.start;
  }
}
