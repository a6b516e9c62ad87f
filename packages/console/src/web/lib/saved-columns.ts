import { useSyncExternalStore } from "react";

// The chosen columns are stored in the browser and not in the URL. A link is for sharing data, and the columns depend
// on the width of each reader's screen. The Logs page has columns in the URL too, because they can be attributes.

const PREFIX = "svc.columns.";
const listeners = new Set<() => void>();

/** Returns the chosen columns of a table in order, or undefined for the defaults, and a function that stores a choice. */
export function useSavedColumns(
  table: string,
): readonly [readonly string[] | undefined, (keys: readonly string[] | undefined) => void] {
  const stored = useSyncExternalStore(listen, () => localStorage.getItem(PREFIX + table));
  return [readColumns(stored), (keys) => storeColumns(table, keys)];
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function storeColumns(table: string, keys: readonly string[] | undefined): void {
  if (keys === undefined) localStorage.removeItem(PREFIX + table);
  else localStorage.setItem(PREFIX + table, keys.join(" "));
  for (const listener of listeners) listener();
}

function readColumns(stored: string | null): readonly string[] | undefined {
  const keys = (stored ?? "").split(" ").filter((key) => key !== "");
  return keys.length === 0 ? undefined : keys;
}

/**
 * Returns the columns to draw: the chosen columns, or by default all columns for which the width has room. The choice
 * does not affect columns without a visible header, which stay at the start or end of the table.
 */
export function columnsToDraw<
  Column extends { readonly key: string; readonly from?: number; readonly headerHidden?: boolean },
>(columns: readonly Column[], chosen: readonly string[] | undefined, width: number): readonly Column[] {
  const byWidth = columns.filter(({ from }) => from === undefined || width >= from);
  if (chosen === undefined) return byWidth;
  const picked = chosen.flatMap((key) => columns.find((column) => column.key === key) ?? []);
  // A table beside an open detail has fewer columns, so it may have none of the chosen ones.
  if (picked.length === 0) return byWidth;
  const firstChoosable = columns.findIndex(({ headerHidden }) => headerHidden !== true);
  const isFirst = (column: Column): boolean => columns.indexOf(column) < firstChoosable;
  const fixed = byWidth.filter(({ headerHidden }) => headerHidden === true);
  return [
    ...fixed.filter(isFirst),
    ...picked.filter(({ headerHidden }) => headerHidden !== true),
    ...fixed.filter((column) => !isFirst(column)),
  ];
}
