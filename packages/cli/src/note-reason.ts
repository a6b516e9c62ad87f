import { escapeUnprintable } from "./log-lines.ts";
import type { Shell } from "./shell.ts";
import { hung } from "./word-wrap.ts";

/** Why something of a listing is as it is, below the listing: the first line of the reason, whole. */
export function noteReason(shell: Shell, what: string, reason: string): void {
  const [first = ""] = reason.split("\n", 1);
  const text = escapeUnprintable(`${what}: ${first}`);
  shell.note(`${hung(`${shell.paint.yellow("note:")} `, text, shell.noteColumns).join("\n")}\n`);
}
