/** An optional member may be null on this wire, or an empty text that asks for nothing. */
export type Wanted = string | null | undefined;

/**
 * The items that hold `search` in their id or their other texts, best first: the id itself, ids that begin with it, ids with a part that
 * begins with it, ids that hold it, then the other texts. Without a search all of them, as they are.
 */
export function ranked<Item>(
  items: readonly Item[],
  search: Wanted,
  textsOf: (item: Item) => { readonly id: string; readonly others: readonly Wanted[] },
): Item[] {
  if (!search) return [...items];
  const wanted = search.toLowerCase();
  const found: { readonly item: Item; readonly rank: number }[] = [];
  for (const item of items) {
    const { id, others } = textsOf(item);
    const rank = rankOf(id.toLowerCase(), others, wanted);
    if (rank !== undefined) found.push({ item, rank });
  }
  // Stable, so that equals stay in the order in which they came.
  return found.sort((a, b) => a.rank - b.rank).map(({ item }) => item);
}

function rankOf(id: string, others: readonly Wanted[], wanted: string): number | undefined {
  if (id === wanted) return 0;
  if (id.startsWith(wanted)) return 1;
  if (id.split(/[^\p{L}\p{N}]+/u).some((part) => part.startsWith(wanted))) return 2;
  if (id.includes(wanted)) return 3;
  return others.some((text) => text?.toLowerCase().includes(wanted)) ? 4 : undefined;
}

/** A copy without the members that are null or undefined: where a published listing leaves them out. */
export function withoutNulls<Row extends Readonly<Record<string, unknown>>>(row: Row): Partial<Row> {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined)) as Partial<Row>;
}
