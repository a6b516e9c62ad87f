import { compareKeys, endOfPrefix } from "../../key-order.ts";
import { stored } from "./stored-text.ts";

/** Upper bound of all texts. It is a blob, because SQLite sorts blobs after texts. */
const END_OF_TEXTS = new Uint8Array(0);

/** Range of encoded texts. The first text is the inclusive start, the second one the exclusive end. */
export type TextRange = readonly [string, string | Uint8Array];

/** Returns the range of texts that start with `prefix`. */
export function rangeOf(prefix: string): TextRange {
  const start = stored(prefix);
  return [start, endOfPrefix(start) ?? END_OF_TEXTS];
}

/**
 * Returns the part of a range after the text `after`. U+0001 is the smallest character in an encoded text. So no text
 * lies between `after` and `after` + U+0001, and the part can start there.
 */
export function rangeAfter([start, end]: TextRange, after: string | undefined): TextRange {
  if (after === undefined) return [start, end];
  const afterText = `${stored(after)}\u0001`;
  return [compareKeys(afterText, start) > 0 ? afterText : start, end];
}

/** Returns the first rows whose total size is at most `maxBytes`, but at least one row. */
export function fitting<Row extends { readonly bytes: number }>(
  rows: readonly Row[],
  maxBytes: number,
): readonly Row[] {
  let bytes = 0;
  const end = rows.findIndex((row, index) => {
    bytes += row.bytes;
    return index > 0 && bytes > maxBytes;
  });
  return end < 0 ? rows : rows.slice(0, end);
}
