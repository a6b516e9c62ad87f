import { escapeUnprintableLines } from "./log-lines.ts";
import type { Shell } from "./shell.ts";
import { headed, inWholeWords } from "./word-wrap.ts";

// What is neither result nor failure, for people: on standard error, in whole words, and with nothing in it that would steer the terminal.

type Notes = Pick<Shell, "note" | "noteColumns" | "paint">;

/** A remark without a head. */
export function say(shell: Omit<Notes, "paint">, text: string): void {
  shell.note(`${inWholeWords(escapeUnprintableLines(text), shell.noteColumns).join("\n")}\n`);
}

/** A remark behind its head, which may be coloured, e.g. `Ready:`. */
export function sayBehind(shell: Omit<Notes, "paint">, head: string, text: string): void {
  shell.note(`${headed(head, escapeUnprintableLines(text), shell.noteColumns).join("\n")}\n`);
}

export function sayNote(shell: Notes, text: string): void {
  sayBehind(shell, shell.paint.yellow("note:"), text);
}

export function sayWarning(shell: Notes, text: string): void {
  sayBehind(shell, shell.paint.yellow("warning:"), text);
}

/** Why something of a listing is as it is, below the listing: the first line of the reason. */
export function sayReason(shell: Notes, what: string, reason: string): void {
  const [first = ""] = reason.split("\n", 1);
  sayNote(shell, `${what}: ${first}`);
}
