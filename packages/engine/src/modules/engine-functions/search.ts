/** An optional member may be null or an empty string on this wire; both mean that it is absent. */
export type Wanted = string | null | undefined;

/**
 * Returns the items that contain `search` in their id or their other texts. The order is: the id equals `search`; the
 * id begins with it; a part of the id begins with it; the id contains it; another text contains it. Without a search,
 * returns all items unchanged.
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
  // The sort is stable, so items of one rank keep their order.
  return found.sort((a, b) => a.rank - b.rank).map(({ item }) => item);
}

function rankOf(id: string, others: readonly Wanted[], wanted: string): number | undefined {
  if (id === wanted) return 0;
  if (id.startsWith(wanted)) return 1;
  if (id.split(/[^\p{L}\p{N}]+/u).some((part) => part.startsWith(wanted))) return 2;
  if (id.includes(wanted)) return 3;
  return others.some((text) => text?.toLowerCase().includes(wanted)) ? 4 : undefined;
}

/**
 * Returns a copy without members that are null or undefined, because listings for published clients omit such members.
 */
export function withoutNulls<Row extends Readonly<Record<string, unknown>>>(row: Row): Partial<Row> {
  return Object.fromEntries(
    Object.entries(row).filter(([, value]) => value !== null && value !== undefined),
  ) as Partial<Row>;
}
