import { useSyncExternalStore } from "react";

// Columns are the reader's choice in this browser and not part of the address, because a link shares what is shown, not
// how wide the reader's screen is. The Logs page has them in the address too, since they can be attributes.

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
 * Returns the columns to draw: the chosen ones, or by default those that the width has room for. Columns that cannot be
 * chosen, because their header is hidden, stay at their end of the table.
 */
export function columnsToDraw<
  Column extends { readonly key: string; readonly from?: number; readonly headerHidden?: boolean },
>(columns: readonly Column[], chosen: readonly string[] | undefined, width: number): readonly Column[] {
  const byWidth = columns.filter(({ from }) => from === undefined || width >= from);
  if (chosen === undefined) return byWidth;
  const picked = chosen.flatMap((key) => columns.find((column) => column.key === key) ?? []);
  // A table without its minor columns, beside an open detail, may have none of the chosen ones.
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
