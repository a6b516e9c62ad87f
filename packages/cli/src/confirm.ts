import { CommandFailure } from "./exit-codes.ts";
import type { Shell } from "./shell.ts";

/** Asks a question that is answered with yes or no, where somebody sits at the terminal; elsewhere the answer is yes. Exit 1 for a no. */
export async function confirm(shell: Shell, question: string): Promise<void> {
  if (shell.ask === undefined) return;
  const answer = await shell.ask(`${question} [y/N] `);
  if (!/^\s*y(es)?\s*$/i.test(answer)) throw new CommandFailure("Nothing was changed.");
}
