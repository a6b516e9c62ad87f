/** Bytes of one chunk: some eighty calls. Who keeps a call longer than those around it unpacks it, since one call keeps its chunk. */
const CHUNK_BYTES = 32 * 1024;
/** Bytes of UTF-8 for one character of a string, at most. */
const BYTES_PER_CHARACTER = 3;
/** Empty chunks that wait to be used again. */
const MAX_EMPTY_CHUNKS = 16;

/** A piece of memory with the texts of some calls. */
export class TextChunk {
  readonly bytes = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  /** Texts in it that somebody keeps; those of a call that the garbage collector took stay counted, and the chunk goes with them. */
  texts = 0;
}

/**
 * Texts of calls that have ended, outside the heap. Thousands of calls are kept for a while, and as strings each would be some ten objects that the garbage
 * collector copies twice: that cost more than all the rest of recording. Chunks whose texts are all dropped are written again.
 */
export class TextArena {
  /** Where the last text was written. Undefined before the first. */
  chunk: TextChunk | undefined;
  start = 0;
  #end = 0;
  readonly #empty: TextChunk[] = [];

  /** Longest that `write` takes, in characters. */
  static readonly maxLength = 2_400;

  /** Writes both, one after the other, and returns how many bytes the first one took; `chunk` and `start` tell where, `length` of both. */
  write(first: string, second: string): number {
    let { chunk } = this;
    if (chunk === undefined || this.#end + (first.length + second.length) * BYTES_PER_CHARACTER > CHUNK_BYTES) {
      chunk = chunk?.texts === 0 ? chunk : (this.#empty.pop() ?? new TextChunk());
      this.chunk = chunk;
      this.#end = 0;
    }
    this.start = this.#end;
    // Mostly all of it is ASCII, which is seen from the number of bytes.
    const written = chunk.bytes.write(first + second, this.#end, "utf8");
    this.#end += written;
    chunk.texts++;
    return written === first.length + second.length ? first.length : Buffer.byteLength(first);
  }

  /** Of what was written last, in bytes. */
  get length(): number {
    return this.#end - this.start;
  }

  /** One text of the chunk, which is of this arena, is kept no longer. */
  drop(chunk: TextChunk): void {
    chunk.texts--;
    if (chunk.texts === 0 && chunk !== this.chunk && this.#empty.length < MAX_EMPTY_CHUNKS) this.#empty.push(chunk);
  }
}
