import wrapAnsi from "wrap-ansi";
import { textWidth } from "./text-width.ts";

/** Wraps text at words to lines of at most `width` columns. A longer word is not split, so that it can be copied. */
export function wrapped(text: string, width: number): readonly string[] {
  const words = text.trimStart();
  return `${text.slice(0, text.length - words.length)}${wrapAnsi(words, width)}`.split("\n");
}

/** Minimum width for wrapping, in columns. Below it, the terminal wraps the text itself. */
const MIN_WIDTH = 20;
/**
 * Matches parts that must stay on one line, so that they can be copied: a command at the end of a line, and short text
 * in backquotes.
 */
const WHOLE = /(?<=: )svc .*$|`[^`]{1,40}`/g;
/** Placeholder for a blank at which the line must not break. It is a private-use character of one column. */
const NO_BREAK_BLANK = "\uE000";

/**
 * Wraps text after a heading. Further lines are indented to the start of the text. Without columns (no terminal), the
 * result is one line.
 */
export function hangingIndent(head: string, text: string, columns: number | undefined): readonly string[] {
  const indent = textWidth(head);
  if (columns === undefined || columns - indent < MIN_WIDTH) return [`${head}${text}`];
  const bound = text.replace(WHOLE, (words) => words.replaceAll(" ", NO_BREAK_BLANK));
  return wrapped(bound, columns - indent).map(
    (line, index) => `${index === 0 ? head : " ".repeat(indent)}${line.replaceAll(NO_BREAK_BLANK, " ")}`,
  );
}

/** Wraps text after a heading. Further lines of the text are not indented. */
export function headed(head: string, text: string, columns: number | undefined): readonly string[] {
  const [first = "", ...more] = text.split("\n");
  return [...hangingIndent(`${head} `, first, columns), ...more.flatMap((line) => inWholeWords(line, columns))];
}

/** Wraps each line at words. Indented lines are examples, so they stay unchanged. */
export function inWholeWords(text: string, columns: number | undefined): readonly string[] {
  return text.split("\n").flatMap((line) => (/^\s/.test(line) ? [line] : hangingIndent("", line, columns)));
}
