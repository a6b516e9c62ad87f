import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandFailure } from "./exit-codes.ts";
import { say } from "./remarks.ts";
import type { Shell } from "./shell.ts";
import type { FolderTarget } from "./worker-target.ts";

/** Shows the manifest that a folder without one would get, and writes it; on a terminal only when that is agreed to, unless `yes`. */
export async function offerManifest(shell: Shell, { folder, shown }: FolderTarget, { yes }: { readonly yes: boolean }): Promise<void> {
  const { ManifestError, MANIFEST_FILE, proposeManifest } = await import("@svc/engine/local-workers");
  try {
    const proposal = await proposeManifest(folder);
    if (proposal === undefined) return;
    const indented = proposal.text.replaceAll(/^(?=.)/gm, "  ");
    say(
      shell,
      `${shown} has no ${MANIFEST_FILE}. With its ${proposal.evidence} it looks like a ${proposal.kind} worker, for which this one fits:\n\n${indented}`,
    );
    if (!yes && shell.ask !== undefined) {
      const answer = await shell.ask("Write it? [Y/n] ");
      if (answer === undefined) shell.note("\n");
      if (!/^(?:y|yes|)$/i.test(answer?.trim() ?? "no")) {
        throw new CommandFailure("Nothing was changed.", { advice: [`Write ${join(shown, MANIFEST_FILE)} as it has to be, then add the worker again.`] });
      }
    }
    // Never over one that somebody wrote meanwhile.
    await writeFile(proposal.file, proposal.text, { flag: "wx" });
    shell.note(`${join(shown, MANIFEST_FILE)} was written; change it where it is wrong\n`);
  } catch (error) {
    if (error instanceof ManifestError) throw new CommandFailure(error.message, { cause: error });
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(`${join(shown, MANIFEST_FILE)} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}
