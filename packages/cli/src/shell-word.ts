/** One word as a POSIX shell needs it, for commands that are shown. */
export function quoted(word: string): string {
  return /^[\w:./@%+,-][\w:./@%+=,-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
