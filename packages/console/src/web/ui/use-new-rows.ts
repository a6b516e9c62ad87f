import { useEffect, useRef, useState } from "react";

/** Time for which a new row is marked, in milliseconds. It is the length of the animation `row-new`. */
const MARKED_MS = 1_500;
/** Maximum number of new rows that are marked. If there are more at once, the list is considered a different one. */
const MAX_NEW = 20;
/** Maximum number of rows that are compared. Longer lists are not compared, because they may change in each frame. */
const MAX_ROWS = 1_000;
const NONE: ReadonlySet<string> = new Set();

/**
 * Returns a function that says whether a row has appeared since the last change of `rows`, so that it is marked once.
 * In four cases, rows are not new: they belong to the first rendering; they belong to another query; many appeared at
 * once; they are at the end of a list that loads more rows at its end (`isPaged`).
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
    // The address identifies the query, because filters are part of the address.
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
