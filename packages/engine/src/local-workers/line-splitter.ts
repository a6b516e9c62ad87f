import { StringDecoder } from "node:string_decoder";

/** Longer lines are cut here. */
export const MAX_LINE_LENGTH = 64 * 1024;
const CUT_MARK = " …[cut]";

/** Cuts a byte stream into lines of UTF-8 text without their ends. Holds at most one line; the rest of an over-long one is dropped. */
export class LineSplitter {
  readonly #decoder = new StringDecoder("utf8");
  readonly #onLine: (line: string) => void;
  #rest = "";
  /** The line's beginning was told already; its remainder is skipped up to the next line end. */
  #skipping = false;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Uint8Array): void {
    this.#take(this.#decoder.write(chunk as Buffer));
  }

  /** Tells what is left after the last line end. */
  end(): void {
    this.#take(this.#decoder.end());
    if (this.#rest !== "" && !this.#skipping) this.#tell(this.#rest);
    this.#rest = "";
    this.#skipping = false;
  }

  #take(text: string): void {
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      this.#append(text.slice(start, end));
      if (!this.#skipping) this.#tell(this.#rest);
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
    this.#tell(this.#rest.slice(0, MAX_LINE_LENGTH) + CUT_MARK);
    this.#rest = "";
    this.#skipping = true;
  }

  #tell(line: string): void {
    this.#onLine(line.endsWith("\r") ? line.slice(0, -1) : line);
  }
}
