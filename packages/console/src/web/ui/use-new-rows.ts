import { useEffect, useRef, useState } from "react";

/** How long a new row is marked, in milliseconds. The same as the animation `row-new`. */
const MARKED_MS = 1_500;
/** More rows at once are another list, not news. */
const MAX_NEW = 20;
/** Longer lists are not compared, since they may change in each frame. */
const MAX_ROWS = 1_000;
const NONE: ReadonlySet<string> = new Set();

/**
 * Returns whether a row appeared since the last change of `rows`, so that it flashes once. Rows of the first rendering
 * and of another query, many rows at once, and rows at the end of a list that loads more at its end (`isPaged`) are not
 * new.
 */
export function useNewRows<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  isPaged: boolean,
): (id: string) => boolean {
  const before = useRef<{ readonly query: string; readonly ids: ReadonlySet<string> }>(undefined);
  const [marked, setMarked] = useState(NONE);
  // biome-ignore lint/correctness/useExhaustiveDependencies: ids of the same rows do not change
  useEffect(() => {
    const known = before.current;
    // Filters are in the address.
    const query = location.search;
    const ids = rows.length > MAX_ROWS ? [] : rows.map(idOf);
    before.current = { query, ids: new Set(ids) };
    if (known === undefined || known.query !== query || known.ids.size === 0) return;
    const fresh = newIds(ids, known.ids, isPaged);
    if (fresh.length === 0 || fresh.length > MAX_NEW) return;
    setMarked((others) => new Set([...others, ...fresh]));
    setTimeout(() => setMarked((all) => without(all, fresh)), MARKED_MS);
  }, [rows]);
  return (id) => marked.has(id);
}

export function newIds(ids: readonly string[], known: ReadonlySet<string>, isPaged: boolean): readonly string[] {
  const end = isPaged ? ids.findLastIndex((id) => known.has(id)) : ids.length;
  return ids.slice(0, Math.max(0, end)).filter((id) => !known.has(id));
}

function without(all: ReadonlySet<string>, ids: readonly string[]): ReadonlySet<string> {
  const left = [...all].filter((id) => !ids.includes(id));
  return left.length === 0 ? NONE : new Set(left);
}
