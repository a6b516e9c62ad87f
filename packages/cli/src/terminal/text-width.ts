import stringWidth from "string-width";

/**
 * Returns the number of columns that the text occupies on a terminal. Escape sequences have no width. East Asian
 * characters and emoji have two columns.
 */
export function textWidth(text: string): number {
  return stringWidth(text);
}

/** Returns the width of the widest text in columns, but at least `minimum`. */
export function widest(texts: Iterable<string>, minimum = 0): number {
  let width = minimum;
  for (const text of texts) width = Math.max(width, textWidth(text));
  return width;
}

/** Pads the text with blanks to `width` columns. */
export function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - textWidth(text)));
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/**
 * Returns the text if it fits into `width` columns. Otherwise returns its beginning and "…". The text must not contain
 * escape sequences.
 */
export function clipped(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let shown = "";
  let room = width - 1;
  for (const { segment } of graphemes.segment(text)) {
    room -= textWidth(segment);
    if (room < 0) break;
    shown += segment;
  }
  return `${shown}…`;
}
