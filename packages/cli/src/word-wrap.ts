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

/** Narrower texts are left to the terminal. */
const LEAST_WIDTH = 20;
/** A command at the end of a line stays whole, and so does what is backquoted unless it is long: it is there to be copied. */
const WHOLE = /(?<=: )svc .*$|`[^`]{1,40}`/g;
/** In the place of a blank that does not break a line: no text has it. */
const HARD_BLANK = "\0";

/** A text behind its head, its further lines below its beginning. Without columns, which is not on a terminal, one line. */
export function hung(head: string, text: string, columns: number | undefined): readonly string[] {
  const indent = shownLength(head);
  if (columns === undefined || columns - indent < LEAST_WIDTH) return [`${head}${text}`];
  const bound = text.replace(WHOLE, (words) => words.replaceAll(" ", HARD_BLANK));
  return wrapped(bound, columns - indent).map((line, index) => `${index === 0 ? head : " ".repeat(indent)}${line.replaceAll(HARD_BLANK, " ")}`);
}

/** A text behind its head. Its further lines begin at the margin. */
export function headed(head: string, text: string, columns: number | undefined): readonly string[] {
  const [first = "", ...more] = text.split("\n");
  return [...hung(`${head} `, first, columns), ...more.flatMap((line) => inWholeWords(line, columns))];
}

/** Line by line. One that is set in is an example or an extract, which stays as it is. */
export function inWholeWords(text: string, columns: number | undefined): readonly string[] {
  return text.split("\n").flatMap((line) => (/^\s/.test(line) ? [line] : hung("", line, columns)));
}

/** Characters that take room on a terminal: colours take none. */
export function shownLength(text: string): number {
  return text.replaceAll(COLOURS, "").length;
}
