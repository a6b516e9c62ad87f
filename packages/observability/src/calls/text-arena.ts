/**
 * Bytes of one chunk, enough for about eighty calls. One stored call keeps its whole chunk in memory, so calls that are
 * stored for long must unpack their texts.
 */
const CHUNK_BYTES = 32 * 1024;
/** Maximum number of UTF-8 bytes for one UTF-16 character. */
const BYTES_PER_CHARACTER = 3;
/** Maximum number of pooled empty chunks. */
const MAX_EMPTY_CHUNKS = 16;

/** A block of memory with the texts of several calls. */
export class TextChunk {
  readonly bytes = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  /**
   * Number of stored texts. If a call is garbage-collected without a call of `drop`, its text stays counted. The chunk
   * is then garbage-collected too instead of being reused.
   */
  texts = 0;
}

/**
 * Texts of ended calls, stored outside the heap. As strings, each of thousands of stored calls would consist of about
 * ten objects, which the garbage collector copies twice. That costs more than the rest of recording: without the arena,
 * a call takes 24 % more CPU of the engine (`npm run bench -- --rows 23`). Chunks without stored texts are reused.
 */
export class TextArena {
  /** Chunk with the last written text. Undefined before the first. */
  chunk: TextChunk | undefined;
  start = 0;
  #end = 0;
  readonly #empty: TextChunk[] = [];

  /** Maximum length of both texts of `write` together, in characters. */
  static readonly maxLength = 2_400;

  /**
   * Writes both texts, one after the other, and returns the number of bytes of the first. Afterwards, `chunk` and
   * `start` say where the texts begin, and `length` is their total size.
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
