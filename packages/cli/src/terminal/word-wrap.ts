import wrapAnsi from "wrap-ansi";
import { textWidth } from "./text-width.ts";

/** Wraps text at words to lines of at most `width` columns. A longer word stays whole, so that it can be copied. */
export function wrapped(text: string, width: number): readonly string[] {
  const words = text.trimStart();
  return `${text.slice(0, text.length - words.length)}${wrapAnsi(words, width)}`.split("\n");
}

/** Below this width the terminal wraps. */
const MIN_WIDTH = 20;
/** Commands at the end of a line and short backquoted text stay on one line, so that they can be copied. */
const WHOLE = /(?<=: )svc .*$|`[^`]{1,40}`/g;
/** Placeholder for a blank that must not break: a private-use character with one column. */
const NO_BREAK_BLANK = "\uE000";

/**
 * Wraps text after a heading, with further lines indented to its start. Without columns (no terminal) it is one line.
 */
export function hangingIndent(head: string, text: string, columns: number | undefined): readonly string[] {
  const indent = textWidth(head);
  if (columns === undefined || columns - indent < MIN_WIDTH) return [`${head}${text}`];
  const bound = text.replace(WHOLE, (words) => words.replaceAll(" ", NO_BREAK_BLANK));
  return wrapped(bound, columns - indent).map(
    (line, index) => `${index === 0 ? head : " ".repeat(indent)}${line.replaceAll(NO_BREAK_BLANK, " ")}`,
  );
}

/** Wraps text after a heading. Further lines of the text start at the margin. */
export function headed(head: string, text: string, columns: number | undefined): readonly string[] {
  const [first = "", ...more] = text.split("\n");
  return [...hangingIndent(`${head} `, first, columns), ...more.flatMap((line) => inWholeWords(line, columns))];
}

/** Wraps each line. Indented lines are examples and stay unchanged. */
export function inWholeWords(text: string, columns: number | undefined): readonly string[] {
  return text.split("\n").flatMap((line) => (/^\s/.test(line) ? [line] : hangingIndent("", line, columns)));
}
