import { CommandFailure, usageFailure } from "./exit-codes.ts";
import type { Shell } from "./shell.ts";

/**
 * Asks before something is lost, unless `--yes` says that it is meant. Without a terminal to ask on, `--yes` is required: exit 2. An answer other
 * than yes: exit 1, nothing is done.
 */
export async function confirm(shell: Shell, question: string, options: { readonly yes?: true | undefined }): Promise<void> {
  if (options.yes) return;
  if (shell.ask === undefined) throw usageFailure(`${question} Pass --yes to say so; there is no terminal to ask on.`);
  const answer = await shell.ask(`${question} [y/N] `);
  if (answer === undefined) shell.note("\n");
  if (!/^(?:y|yes)$/i.test(answer?.trim() ?? "")) throw new CommandFailure("Nothing was changed.");
}
