/** One word of a shell command, whatever is in it. */
export function quoteWord(word: string): string {
  return /^[A-Za-z0-9_./][A-Za-z0-9_./-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
