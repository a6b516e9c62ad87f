/**
 * Returns the choice to store after a change: the new columns, and earlier ones that the table does not have now, e.g.
 * beside an open detail. Those keep the neighbour before them.
 */
export function withUnavailable(
  next: readonly string[],
  chosen: readonly string[] | undefined,
  available: readonly string[],
): readonly string[] {
  const result = [...next];
  for (const [at, key] of (chosen ?? []).entries()) {
    if (available.includes(key) || result.includes(key)) continue;
    const before = (chosen ?? []).slice(0, at).findLast((each) => result.includes(each));
    result.splice(before === undefined ? 0 : result.indexOf(before) + 1, 0, key);
  }
  return result;
}
