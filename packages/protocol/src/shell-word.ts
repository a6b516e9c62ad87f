/** One word as a POSIX shell needs it, whatever is in it. */
export function quoteWord(word: string): string {
  return /^[\w:./@%+,-][\w:./@%+=,-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
