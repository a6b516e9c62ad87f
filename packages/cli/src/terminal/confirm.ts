import { CommandFailure, usageFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";

/**
 * Asks for confirmation unless `--yes` is given. Without a terminal, `--yes` is required (exit 2). If the answer is not
 * yes, throws, so that the command ends with exit 1.
 */
export async function confirm(
  shell: Shell,
  question: string,
  options: { readonly yes?: true | undefined },
): Promise<void> {
  if (options.yes) return;
  if (shell.ask === undefined) throw usageFailure(`${question} There is no terminal to ask on; pass --yes to confirm.`);
  const answer = await shell.ask(`${question} [y/N] `);
  if (answer === undefined) shell.note("\n");
  if (!/^(?:y|yes)$/i.test(answer?.trim() ?? "")) throw new CommandFailure("Nothing was changed.");
}
