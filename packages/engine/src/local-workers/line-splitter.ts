import { StringDecoder } from "node:string_decoder";

/** Maximum length of a line. Longer lines are cut. */
export const MAX_LINE_LENGTH = 64 * 1024;
const CUT_MARK = " …[cut]";

/**
 * Splits a byte stream into lines of UTF-8 text without line ends. Buffers at most one line. If a line is too long, the
 * rest of it is dropped.
 */
export class LineSplitter {
  readonly #decoder = new StringDecoder("utf8");
  readonly #onLine: (line: string) => void;
  #rest = "";
  /** True if the current line was cut and emitted already. Its rest is skipped up to the next line end. */
  #skipping = false;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Uint8Array): void {
    this.#take(this.#decoder.write(chunk as Buffer));
  }

  /** Emits the text after the last line end. */
  end(): void {
    this.#take(this.#decoder.end());
    if (this.#rest !== "" && !this.#skipping) this.#emit(this.#rest);
    this.#rest = "";
    this.#skipping = false;
  }

  #take(text: string): void {
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      this.#append(text.slice(start, end));
      if (!this.#skipping) this.#emit(this.#rest);
      this.#rest = "";
      this.#skipping = false;
      start = end + 1;
    }
    this.#append(text.slice(start));
  }

  #append(part: string): void {
    if (this.#skipping) return;
    this.#rest += part;
    if (this.#rest.length <= MAX_LINE_LENGTH) return;
    this.#emit(this.#rest.slice(0, MAX_LINE_LENGTH) + CUT_MARK);
    this.#rest = "";
    this.#skipping = true;
  }

  #emit(line: string): void {
    this.#onLine(line.endsWith("\r") ? line.slice(0, -1) : line);
  }
}
