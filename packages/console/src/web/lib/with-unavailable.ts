/**
 * Returns the columns to store after the user changed a table's columns: the new ones, and those chosen before that the
 * table cannot show now (for example beside an open detail). The latter keep their place after the same column.
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
