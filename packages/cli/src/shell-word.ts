/** One word as a POSIX shell takes it. */
export function shellWord(word: string): string {
  return /^[\w:./@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
