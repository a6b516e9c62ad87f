import { escapeUnprintableLines } from "../logs/log-lines.ts";
import type { Shell } from "../shell.ts";
import { headed, inWholeWords } from "./word-wrap.ts";

// Functions that print notes for the user on standard error. The text is wrapped at words, and control characters are
// escaped.

type Notes = Pick<Shell, "note" | "noteColumns" | "paint">;

/** Prints a note. */
export function say(shell: Omit<Notes, "paint">, text: string): void {
  shell.note(`${inWholeWords(escapeUnprintableLines(text), shell.noteColumns).join("\n")}\n`);
}

/** Prints a note after a heading, e.g. `Ready:`. The heading may contain colours. */
export function sayBehind(shell: Omit<Notes, "paint">, head: string, text: string): void {
  shell.note(`${headed(head, escapeUnprintableLines(text), shell.noteColumns).join("\n")}\n`);
}

export function sayNote(shell: Notes, text: string): void {
  sayBehind(shell, shell.paint.yellow("note:"), text);
}

export function sayWarning(shell: Notes, text: string): void {
  sayBehind(shell, shell.paint.yellow("warning:"), text);
}

/** Prints the first line of the reason for a listed item's status. */
export function sayReason(shell: Notes, what: string, reason: string): void {
  const [first = ""] = reason.split("\n", 1);
  sayNote(shell, `${what}: ${first}`);
}
