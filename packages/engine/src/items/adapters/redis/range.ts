import { compareKeys, endOfPrefix } from "../../key-order.ts";

/** Where a page begins, where it ends, and where the prefix begins, as ZRANGEBYLEX has them. Redis orders by bytes of UTF-8, which is by code point. */
export function rangeOf(prefix: string, after: string | undefined): readonly [string, string, string] {
  const start = prefix === "" ? "-" : `[${prefix}`;
  const end = endOfPrefix(prefix);
  const isBehindStart = after !== undefined && compareKeys(after, prefix) >= 0;
  return [isBehindStart ? `(${after}` : start, end === undefined ? "+" : `(${end}`, start];
}
