/** Bytes of one chunk, about eighty calls. One stored call keeps its chunk alive: long-lived calls must unpack. */
const CHUNK_BYTES = 32 * 1024;
/** Maximum number of UTF-8 bytes for one UTF-16 character. */
const BYTES_PER_CHARACTER = 3;
/** Maximum number of pooled empty chunks. */
const MAX_EMPTY_CHUNKS = 16;

/** A block of memory with the texts of several calls. */
export class TextChunk {
  readonly bytes = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  /**
   * Number of stored texts. Texts of a garbage-collected call stay counted: the chunk is then collected, not reused.
   */
  texts = 0;
}

/**
 * Texts of ended calls, outside the heap. As strings, each of thousands of stored calls would be about ten objects that
 * the garbage collector copies twice, which costs more than the rest of recording: without the arena, a call takes 24 %
 * more CPU of the engine (`npm run bench -- --rows 23`). Chunks without stored texts are reused.
 */
export class TextArena {
  /** Where the last text was written. Undefined before the first. */
  chunk: TextChunk | undefined;
  start = 0;
  #end = 0;
  readonly #empty: TextChunk[] = [];

  /** Maximum length of both texts of `write`, in characters. */
  static readonly maxLength = 2_400;

  /**
   * Writes both texts, one after the other, and returns the number of bytes of the first. `chunk` and `start` are where
   * they begin, `length` is the size of both.
   */
  write(first: string, second: string): number {
    let { chunk } = this;
    if (chunk === undefined || this.#end + (first.length + second.length) * BYTES_PER_CHARACTER > CHUNK_BYTES) {
      chunk = chunk?.texts === 0 ? chunk : (this.#empty.pop() ?? new TextChunk());
      this.chunk = chunk;
      this.#end = 0;
    }
    this.start = this.#end;
    // Most texts are ASCII; then the number of bytes equals the number of characters.
    const written = chunk.bytes.write(first + second, this.#end, "utf8");
    this.#end += written;
    chunk.texts++;
    return written === first.length + second.length ? first.length : Buffer.byteLength(first);
  }

  /** Size of the last written texts, in bytes. */
  get length(): number {
    return this.#end - this.start;
  }

  /** Releases one text of the chunk, which must belong to this arena. */
  drop(chunk: TextChunk): void {
    chunk.texts--;
    if (chunk.texts === 0 && chunk !== this.chunk && this.#empty.length < MAX_EMPTY_CHUNKS) this.#empty.push(chunk);
  }
}
