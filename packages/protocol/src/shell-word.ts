/** Quotes a word for a POSIX shell, if needed. */
export function quoteWord(word: string): string {
  return /^[\w:./@%+,-][\w:./@%+=,-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
