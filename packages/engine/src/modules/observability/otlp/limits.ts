import type { DropCounter } from "../model.ts";

/** What one record from outside may hold. What is beyond is left out or cut, and counted. */
export const MAX_ATTRIBUTES = 128;
export const MAX_EVENTS = 128;
export const MAX_LINKS = 128;
export const MAX_KEY_BYTES = 256;
export const MAX_VALUE_BYTES = 16 * 1024;
export const MAX_BODY_BYTES = 64 * 1024;
export const MAX_NAME_BYTES = 1_024;
/** Of values inside one another. */
export const MAX_DEPTH = 16;
/** All of one record together. */
export const MAX_RECORD_BYTES = 256 * 1024;
export const MAX_POINTS = 10_000;
/** Stands at the end of a text that was cut. */
export const CUT_MARK = "… [cut]";

type SignalOfDrops = Parameters<DropCounter["dropped"]>[0];

/** Bytes that one record may still take. Counts what it had to leave out. */
export class RecordBudget {
  #left = MAX_RECORD_BYTES;
  readonly #signal: SignalOfDrops;
  readonly #drops: DropCounter;

  constructor(signal: SignalOfDrops, drops: DropCounter) {
    this.#signal = signal;
    this.#drops = drops;
  }

  /** How many bytes it has taken. */
  get used(): number {
    return MAX_RECORD_BYTES - this.#left;
  }

  /** False, and nothing is taken, when there are not so many left. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  leftOut(what: "attributes" | "events" | "links" | "points" | "values_cut", count: number): void {
    if (count > 0) this.#drops.dropped(this.#signal, `record_limit_${what}`, count);
  }

  /** The text, or the beginning of it with a mark, in the room that is left. */
  cut(text: string, maxBytes: number): string {
    // No character takes more than three bytes for each unit of UTF-16.
    const bytes = text.length * 3 <= maxBytes ? text.length : Buffer.byteLength(text);
    const room = Math.min(maxBytes, this.#left);
    if (bytes <= room) {
      this.#left -= bytes;
      return text;
    }
    this.leftOut("values_cut", 1);
    this.#left -= room;
    return `${cutToBytes(text, room)}${CUT_MARK}`;
  }
}

/** The longest beginning of a text that takes at most so many bytes in UTF-8, without half a character. */
function cutToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.slice(0, maxBytes));
  let end = Math.min(maxBytes, bytes.length);
  // 10xxxxxx goes on with a character that began before.
  while (end > 0 && end < bytes.length && ((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
}
