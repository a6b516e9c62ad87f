/**
 * Compares two well-formed strings by code point. This is the order of their UTF-8 bytes, which SQLite and Redis use.
 * The operator `<` cannot be used, because it compares UTF-16 units: it sorts characters above U+FFFF before U+E000 to
 * U+FFFF.
 */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const unitA = a.charCodeAt(index);
    const unitB = b.charCodeAt(index);
    if (unitA !== unitB) return rank(unitA) - rank(unitB);
  }
  return a.length - b.length;
}

/** Sorts the surrogates (U+D800 to U+DFFF) after all other units. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/**
 * Returns the smallest string that sorts after all strings that start with `prefix`. Returns undefined if there is no
 * such string, because the prefix is empty or consists only of U+10FFFF.
 */
export function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  while (points.length > 0) {
    const last = points.pop() ?? 0;
    if (last < 0x10ffff) return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
  }
  return undefined;
}
