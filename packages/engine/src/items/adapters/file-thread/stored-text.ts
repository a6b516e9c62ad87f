// SQLite's text functions and one of the drivers truncate text at U+0000. So U+0000 is encoded as U+0001 U+0001, and
// U+0001 as U+0001 U+0002. This preserves the order of texts and their prefixes.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for these characters
const toEscape = /[\u0000\u0001]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for these characters
const escaped = /\u0001[\u0001\u0002]/g;

/** Encodes a text for the database. JSON needs no encoding, because it escapes control characters. */
export function stored(text: string): string {
  if (!text.includes("\u0000") && !text.includes("\u0001")) return text;
  return text.replace(toEscape, (character) => (character === "\u0000" ? "\u0001\u0001" : "\u0001\u0002"));
}

/** Decodes a text from the database. */
export function original(text: string): string {
  return text.includes("\u0001")
    ? text.replace(escaped, (pair) => (pair === "\u0001\u0001" ? "\u0000" : "\u0001"))
    : text;
}
