/** Longer names are not compared: no known name is near them, and the cost grows with the square of the length. */
const LONGEST_COMPARED = 64;

/**
 * Returns the candidate that `name` was probably meant to be, or undefined if none is near: at most one typo per three
 * letters, three at most. A typo is a letter added, left out or replaced, or two neighbours swapped. Ignores case, and
 * the difference between `-` and `_`.
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > LONGEST_COMPARED) return undefined;
  const wanted = folded(name);
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of candidates) {
    if (candidate.length > LONGEST_COMPARED) continue;
    const distance = editDistance(wanted, folded(candidate));
    if (distance > maxDistance(wanted, candidate)) continue;
    if (best === undefined || distance < best.distance) best = { candidate, distance };
  }
  return best?.candidate;
}

/** Returns `; did you mean X?` for the end of a message, or an empty string. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const nearest = nearestName(name, candidates);
  return nearest === undefined ? "" : `; did you mean ${nearest}?`;
}

function folded(name: string): string {
  return name.toLowerCase().replaceAll("_", "-");
}

function maxDistance(name: string, candidate: string): number {
  return Math.min(3, Math.floor(Math.max(name.length, candidate.length) / 3));
}

/** Returns the optimal string alignment distance; keeps only three rows of the table. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = at(last, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      let cheapest = Math.min(at(last, column) + 1, at(current, column - 1) + 1, replaced);
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cheapest = Math.min(cheapest, at(beforeLast, column - 2) + 1);
      current.push(cheapest);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
