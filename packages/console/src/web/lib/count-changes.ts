/** Returns the number of items that were added, removed or changed. */
export function countChanges<Item>(
  before: readonly Item[],
  after: readonly Item[],
  idOf: (item: Item) => string,
  isSame: (a: Item, b: Item) => boolean = Object.is,
): number {
  if (before === after) return 0;
  const removed = new Map(before.map((item) => [idOf(item), item]));
  let changes = 0;
  for (const item of after) {
    const earlier = removed.get(idOf(item));
    if (earlier === undefined || !isSame(earlier, item)) changes++;
    removed.delete(idOf(item));
  }
  return changes + removed.size;
}
