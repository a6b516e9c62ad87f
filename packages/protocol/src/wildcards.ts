export interface OrderRule {
  /** The pattern item that matches any number of items, including none. */
  readonly any: string;
  /** Whether another pattern item matches this item. */
  readonly fits: (wanted: string, item: string) => boolean;
  /** `beginning`: items after the matching part are ignored. */
  readonly where: "whole" | "beginning";
}

/**
 * Returns whether items (the characters of a string, the names of a path) match a pattern. Backtracks at most to the
 * last `any`, so the worst-case time is proportional to the product of both lengths.
 */
export function fitsInOrder(
  pattern: ArrayLike<string>,
  items: ArrayLike<string>,
  { any, fits, where }: OrderRule,
): boolean {
  let at = 0;
  let inPattern = 0;
  let last = -1;
  let afterLast = 0;
  while (at < items.length) {
    const wanted = pattern[inPattern];
    if (wanted === undefined && where === "beginning") return true;
    if (wanted === any) {
      last = inPattern++;
      afterLast = at;
    } else if (wanted !== undefined && fits(wanted, items[at] ?? "")) {
      inPattern++;
      at++;
    } else if (last !== -1) {
      // Backtrack: the last `any` matches one more item.
      inPattern = last + 1;
      at = ++afterLast;
    } else return false;
  }
  while (pattern[inPattern] === any) inPattern++;
  return inPattern === pattern.length;
}

const CHARACTERS: OrderRule = {
  any: "*",
  fits: (wanted, character) => wanted === "?" || wanted === character,
  where: "whole",
};

/**
 * Compiles a pattern that matches whole strings. `*` matches any string and, unlike in `compileGlob`, `?` matches any
 * character. Everything else is literal.
 */
export function compileWildcards(pattern: string): (text: string) => boolean {
  return (text) => fitsInOrder(pattern, text, CHARACTERS);
}

/**
 * Compiles a pattern in which `*` matches any number of characters, including none. Everything else is literal. Makes
 * one pass over the string: each part between two stars is searched only after the previous part, so no pattern is
 * slow.
 */
export function compileGlob(pattern: string): (text: string) => boolean {
  const pieces = pattern.split("*");
  const first = pieces[0] ?? "";
  if (pieces.length === 1) return (text) => text === pattern;
  const last = pieces.at(-1) ?? "";
  const middle = pieces.slice(1, -1).filter((piece) => piece !== "");
  return (text) => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
    const end = text.length - last.length;
    let from = first.length;
    for (const piece of middle) {
      const at = text.indexOf(piece, from);
      if (at === -1 || at + piece.length > end) return false;
      from = at + piece.length;
    }
    return true;
  };
}
