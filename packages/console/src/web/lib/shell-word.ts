/** Quotes a word for a POSIX shell. */
export function quotedWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Quotes a word for a POSIX shell if that is needed. A leading `=` is quoted too, because zsh reads it as the path of a
 * program.
 */
export function shellWord(text: string): string {
  return /^(?!=)[\w@%+=:,./-]+$/.test(text) ? text : quotedWord(text);
}
