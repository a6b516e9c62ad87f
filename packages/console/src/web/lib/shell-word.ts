/** Quotes a word for a POSIX shell. */
export function quotedWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Quotes a word for a POSIX shell if needed. zsh reads a leading `=` as the path of a program. */
export function shellWord(text: string): string {
  return /^(?!=)[\w@%+=:,./-]+$/.test(text) ? text : quotedWord(text);
}
