/** Scope with very many items, with keys `key-0000000` and so on. */
export const LARGE_SCOPE = "large";
/** Prefix of 100 keys in the middle of the scope. */
export const PAGE_PREFIX = "key-00050";

export function largeKey(index: number): string {
  return `key-${String(index).padStart(7, "0")}`;
}
