import { escapeUnprintable } from "./log-lines.ts";
import type { Shell } from "./shell.ts";
import { wrapped } from "./word-wrap.ts";

const INDENT = " ".repeat("note: ".length);

/** Why something of a listing is as it is, below the listing: the first line of the reason, whole. */
export function noteReason(shell: Shell, what: string, reason: string): void {
  const [first = ""] = reason.split("\n", 1);
  const text = escapeUnprintable(`${what}: ${first}`);
  const lines = shell.noteColumns === undefined ? [text] : wrapped(text, shell.noteColumns - INDENT.length);
  shell.note(`${shell.paint.yellow("note:")} ${lines.join(`\n${INDENT}`)}\n`);
}
