import wrapAnsi from "wrap-ansi";
import { textWidth } from "./text-width.ts";

/** Breaks the text between words into lines of at most `width` columns. A word that is wider than a line stays whole, so that it can be copied. */
export function wrapped(text: string, width: number): readonly string[] {
  const words = text.trimStart();
  return `${text.slice(0, text.length - words.length)}${wrapAnsi(words, width)}`.split("\n");
}

/** Narrower texts are left to the terminal. */
const LEAST_WIDTH = 20;
/** A command at the end of a line stays whole, and so does what is backquoted unless it is long: it is there to be copied. */
const WHOLE = /(?<=: )svc .*$|`[^`]{1,40}`/g;
/** Stands for a blank at which no line is broken. A private-use character of one column, which no text contains. */
const HARD_BLANK = "\uE000";

/** A text behind its head, its further lines below its beginning. Without columns, which is not on a terminal, one line. */
export function hung(head: string, text: string, columns: number | undefined): readonly string[] {
  const indent = textWidth(head);
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
