import { compareKeys, endOfPrefix } from "../../key-order.ts";
import { stored } from "./stored-text.ts";

/** SQLite orders every blob behind every text. */
const END_OF_TEXTS = new Uint8Array(0);

/** Stored texts from the first bound up to before the second. */
export type TextRange = readonly [string, string | Uint8Array];

/** Those that begin with `prefix`. */
export function rangeOf(prefix: string): TextRange {
  const start = stored(prefix);
  return [start, endOfPrefix(start) ?? END_OF_TEXTS];
}

/** Of those, the ones behind `after`. U+0001 is the first character that a stored text may hold, so nothing lies between `after` and `after` with it. */
export function rangeBehind([start, end]: TextRange, after: string | undefined): TextRange {
  if (after === undefined) return [start, end];
  const behind = `${stored(after)}\u0001`;
  return [compareKeys(behind, start) > 0 ? behind : start, end];
}

/** The first rows that are not over `maxBytes` together; at least one. */
export function fitting<Row extends { readonly bytes: number }>(rows: readonly Row[], maxBytes: number): readonly Row[] {
  let bytes = 0;
  const end = rows.findIndex((row, index) => {
    bytes += row.bytes;
    return index > 0 && bytes > maxBytes;
  });
  return end < 0 ? rows : rows.slice(0, end);
}
