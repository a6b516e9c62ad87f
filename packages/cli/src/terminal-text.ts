import pc from "picocolors";
import { type Shell, wantsColor } from "./shell.ts";

const ESCAPE = "\u001b";
/** A colour or another look of text, and the end of all of them. */
const LOOK = new RegExp(`${ESCAPE}\\[[\\d;:]*m`, "g");
const RESET = `${ESCAPE}[0m`;
/** Whatever else begins with an escape: cursor movements, titles, links. */
const OTHER_SEQUENCES = new RegExp(`${ESCAPE}(?:\\[[0-?]*[ -/]*[@-~]|\\][^\\u0007${ESCAPE}]*(?:\\u0007|${ESCAPE}\\\\)?|[@-Z\\\\^_])`, "g");
const UNPRINTABLE = /[\p{Cc}\p{Cf}]/gu;

/** Colours for standard output: each is the identity when it is not a terminal or NO_COLOR is set. */
export function outPaint(shell: Pick<Shell, "env" | "outColumns">): Shell["paint"] {
  return pc.createColors(wantsColor(shell.env, shell.outColumns !== undefined));
}

/**
 * A line of a worker's output, fit for a terminal that others write to as well: it keeps its colours where colours are wanted, and nothing
 * that would move the cursor, empty the screen or rename the window.
 */
export function fitForTerminal(line: string, { colours }: { readonly colours: boolean }): string {
  const pieces: string[] = [];
  let from = 0;
  for (const look of line.matchAll(LOOK)) {
    pieces.push(plain(line.slice(from, look.index)), colours ? look[0] : "");
    from = look.index + look[0].length;
  }
  if (from === 0) return plain(line);
  return `${pieces.join("")}${plain(line.slice(from))}${colours ? RESET : ""}`;
}

function plain(text: string): string {
  return text.replaceAll(OTHER_SEQUENCES, "").replaceAll("\t", "    ").replaceAll(UNPRINTABLE, "");
}
