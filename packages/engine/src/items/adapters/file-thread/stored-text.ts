// SQLite's text functions and one of the drivers end a text at U+0000. So U+0000 is written as U+0001 U+0001 and U+0001 as U+0001 U+0002,
// which keeps both the order of texts and what is a prefix of what.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const toEscape = /[\u0000\u0001]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const escaped = /\u0001[\u0001\u0002]/g;

/** How a text that may hold any character is kept in the database. JSON needs none of it: it holds no such characters. */
export function stored(text: string): string {
  if (!text.includes("\u0000") && !text.includes("\u0001")) return text;
  return text.replace(toEscape, (character) => (character === "\u0000" ? "\u0001\u0001" : "\u0001\u0002"));
}

/** What was given to `stored`. */
export function original(text: string): string {
  return text.includes("\u0001") ? text.replace(escaped, (pair) => (pair === "\u0001\u0001" ? "\u0000" : "\u0001")) : text;
}
