const ESCAPE = "\u001b";
/** SGR sequences: colours and styles. */
const STYLE_SEQUENCES = new RegExp(`${ESCAPE}\\[[\\d;:]*m`, "g");
const RESET = `${ESCAPE}[0m`;
/** All other escape sequences: cursor movements, titles, links. */
const OTHER_SEQUENCES = new RegExp(
  `${ESCAPE}(?:\\[[0-?]*[ -/]*[@-~]|\\][^\\u0007${ESCAPE}]*(?:\\u0007|${ESCAPE}\\\\)?|[@-Z\\\\^_])`,
  "g",
);
const UNPRINTABLE = /[\p{Cc}\p{Cf}]/gu;

/**
 * Prepares a line of a worker's output for a terminal that several sources share. Keeps colours if `colours` is true.
 * Removes everything that moves the cursor, clears the screen or renames the window.
 */
export function fitForTerminal(line: string, { colours }: { readonly colours: boolean }): string {
  const pieces: string[] = [];
  let from = 0;
  for (const style of line.matchAll(STYLE_SEQUENCES)) {
    pieces.push(plain(line.slice(from, style.index)), colours ? style[0] : "");
    from = style.index + style[0].length;
  }
  if (from === 0) return plain(line);
  return `${pieces.join("")}${plain(line.slice(from))}${colours ? RESET : ""}`;
}

function plain(text: string): string {
  return text.replaceAll(OTHER_SEQUENCES, "").replaceAll("\t", "    ").replaceAll(UNPRINTABLE, "");
}
