import { useSyncExternalStore } from "react";

// The columns that a user chose are stored in the browser and not in the address. The reason: a link is shared to show
// data, but the columns depend on the width of each reader's screen. The Logs page has its columns in the address too,
// because they may be attributes.

const PREFIX = "svc.columns.";
const listeners = new Set<() => void>();

/**
 * Returns two values: the chosen columns of a table in order (undefined for the default columns), and a function that
 * stores a choice.
 */
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
 * Returns the columns to show: the chosen ones. Without a choice, these are all columns for which there is enough
 * width. Columns without a visible header are not affected by the choice. They stay at the start or end of the table.
 */
export function columnsToDraw<
  Column extends { readonly key: string; readonly from?: number; readonly headerHidden?: boolean },
>(columns: readonly Column[], chosen: readonly string[] | undefined, width: number): readonly Column[] {
  const byWidth = columns.filter(({ from }) => from === undefined || width >= from);
  if (chosen === undefined) return byWidth;
  const picked = chosen.flatMap((key) => columns.find((column) => column.key === key) ?? []);
  // A table beside an open detail has fewer columns, and perhaps none of them was chosen.
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
