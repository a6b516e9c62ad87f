export interface OrderRule {
  /** The item of a pattern that stands for any number of items, also none. */
  readonly any: string;
  /** Whether any other item of a pattern fits this item. */
  readonly fits: (wanted: string, item: string) => boolean;
  /** `beginning`: what comes behind the part that fits does not count. */
  readonly where: "whole" | "beginning";
}

/**
 * Whether items (the characters of a text, the names of a path) fit a pattern in their order. Goes back at most to the last `any`, and so takes time in
 * proportion to both lengths at worst, whatever the pattern.
 */
export function fitsInOrder(pattern: ArrayLike<string>, items: ArrayLike<string>, { any, fits, where }: OrderRule): boolean {
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
      // The last one takes one item more.
      inPattern = last + 1;
      at = ++afterLast;
    } else return false;
  }
  while (pattern[inPattern] === any) inPattern++;
  return inPattern === pattern.length;
}

const CHARACTERS: OrderRule = { any: "*", fits: (wanted, character) => wanted === "?" || wanted === character, where: "whole" };

/** Matches whole texts: `*` stands for any text, and, other than to `compileGlob`, `?` for any character; all else stands for itself. */
export function compileWildcards(pattern: string): (text: string) => boolean {
  return (text) => fitsInOrder(pattern, text, CHARACTERS);
}

/**
 * A pattern in which `*` stands for any number of characters, also none; everything else stands for itself. One pass over the text:
 * each piece between two stars is looked for behind the one before, and never again further ahead, so no pattern is slow.
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
