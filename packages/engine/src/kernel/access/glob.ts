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

const MATCH = /^match\((?:"([^"]*)"|'([^']*)')\)$/;

/** The pattern of `match("pat")` or `match('pat')`; undefined for any other text. */
export function patternOfMatch(text: string): string | undefined {
  const found = MATCH.exec(text.trim());
  return found === null ? undefined : (found[1] ?? found[2]);
}
