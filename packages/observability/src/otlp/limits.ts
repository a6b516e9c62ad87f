import type { DropCounter } from "../telemetry-records.ts";

/** Limits for one external record. Anything beyond is omitted or cut, and counted. */
export const MAX_ATTRIBUTES = 128;
export const MAX_EVENTS = 128;
export const MAX_LINKS = 128;
export const MAX_KEY_BYTES = 256;
export const MAX_VALUE_BYTES = 16 * 1024;
export const MAX_BODY_BYTES = 64 * 1024;
export const MAX_NAME_BYTES = 1_024;
export const MAX_DEPTH = 16;
export const MAX_RECORD_BYTES = 256 * 1024;
export const MAX_POINTS = 10_000;
/** Appended to a string that was cut. */
export const CUT_MARK = "… [cut]";

type SignalOfDrops = Parameters<DropCounter["dropped"]>[0];

/** The number of bytes that one record may still use. Counts everything that is omitted. */
export class RecordBudget {
  #left = MAX_RECORD_BYTES;
  readonly #signal: SignalOfDrops;
  readonly #drops: DropCounter;

  constructor(signal: SignalOfDrops, drops: DropCounter) {
    this.#signal = signal;
    this.#drops = drops;
  }

  get used(): number {
    return MAX_RECORD_BYTES - this.#left;
  }

  /** Takes bytes. Returns false, and takes none, if fewer bytes are left. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  leftOut(what: "attributes" | "events" | "links" | "points" | "values_cut", count: number): void {
    if (count > 0) this.#drops.dropped(this.#signal, `record_limit_${what}`, count);
  }

  /** Returns the text if it fits into the bytes that are left. Otherwise cuts it and appends a mark. */
  cut(text: string, maxBytes: number): string {
    // One UTF-16 unit takes at most three bytes in UTF-8, so short texts need no exact count.
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

/** Returns the longest prefix that takes at most `maxBytes` in UTF-8, without splitting a character. */
function cutToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.slice(0, maxBytes));
  let end = Math.min(maxBytes, bytes.length);
  // Bytes of the form 10xxxxxx are inside a character, so the cut moves to before its first byte.
  while (end > 0 && end < bytes.length && ((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
}
