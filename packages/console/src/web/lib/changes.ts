/** How many items came, went or became others. */
export function changesBetween<Item>(
  before: readonly Item[],
  after: readonly Item[],
  idOf: (item: Item) => string,
  isSame: (a: Item, b: Item) => boolean = Object.is,
): number {
  if (before === after) return 0;
  const gone = new Map(before.map((item) => [idOf(item), item]));
  let changes = 0;
  for (const item of after) {
    const earlier = gone.get(idOf(item));
    if (earlier === undefined || !isSame(earlier, item)) changes++;
    gone.delete(idOf(item));
  }
  return changes + gone.size;
}
