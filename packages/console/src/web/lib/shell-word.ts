/** A word for a POSIX shell, always in quotes. */
export function quotedWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A word for a POSIX shell, in quotes where it needs them; zsh takes a leading `=` for the path of a program. */
export function shellWord(text: string): string {
  return /^(?!=)[\w@%+=:,./-]+$/.test(text) ? text : quotedWord(text);
}
