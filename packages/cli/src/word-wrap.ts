const ESCAPE = "\u001b";
const COLOURS = new RegExp(`${ESCAPE}\\[[\\d;]*m`, "g");

/** Lines of at most so many characters, broken between words; a word that is longer than a line stays whole, so that it can be copied. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line: string | undefined;
  for (const word of text.split(" ")) {
    if (line === undefined) line = word;
    else if (shownLength(line) + 1 + shownLength(word) <= width) line += ` ${word}`;
    else {
      lines.push(line.trimEnd());
      line = word;
    }
  }
  return [...lines, line ?? ""];
}

/** Characters that take room on a terminal: colours take none. */
export function shownLength(text: string): number {
  return text.replaceAll(COLOURS, "").length;
}
