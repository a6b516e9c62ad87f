/** Names longer than this are compared with nothing: no name of ours is near them, and the table below grows with the square. */
const LONGEST_COMPARED = 64;

/**
 * The candidate that `name` was probably meant to be, or undefined when none is near: at most one slip per three letters, three at most.
 * A slip is a letter added, left out, replaced, or two neighbours swapped. Case and `-` against `_` count as no slip.
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > LONGEST_COMPARED) return undefined;
  const wanted = folded(name);
  let best: { readonly candidate: string; readonly slips: number } | undefined;
  for (const candidate of candidates) {
    if (candidate.length > LONGEST_COMPARED) continue;
    const slips = slipsBetween(wanted, folded(candidate));
    if (slips > allowedSlips(wanted, candidate)) continue;
    if (best === undefined || slips < best.slips) best = { candidate, slips };
  }
  return best?.candidate;
}

/** `; did you mean X?`, or an empty text. Goes at the end of a message. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const nearest = nearestName(name, candidates);
  return nearest === undefined ? "" : `; did you mean ${nearest}?`;
}

function folded(name: string): string {
  return name.toLowerCase().replaceAll("_", "-");
}

function allowedSlips(name: string, candidate: string): number {
  return Math.min(3, Math.floor(Math.max(name.length, candidate.length) / 3));
}

/** Optimal string alignment distance, by the usual table of which only three rows are kept. */
function slipsBetween(a: string, b: string): number {
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
