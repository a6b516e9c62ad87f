import type { Shell } from "../shell.ts";
import { sayNote } from "./notes.ts";

/**
 * Prints a note with the engines of the cluster that did not answer, if there are any. `what` is what is missing, e.g.
 * `traces`.
 */
export function sayMissing(shell: Shell, nodes: readonly string[] | undefined, what: string): void {
  if (nodes === undefined || nodes.length === 0) return;
  sayNote(shell, `${nodes.join(", ")} did not answer: ${nodes.length === 1 ? "its" : "their"} ${what} are missing`);
}
