import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { say } from "../terminal/notes.ts";
import type { FolderTarget } from "./worker-target.ts";

/**
 * Proposes a manifest for a folder that has none, and writes it. On a terminal it asks the user first, unless `yes` is
 * true.
 */
export async function offerManifest(
  shell: Shell,
  { folder, shown }: FolderTarget,
  { yes }: { readonly yes: boolean },
): Promise<void> {
  const { ManifestError, MANIFEST_FILE, proposeManifest } = await import("@svc-runtime/engine/local-workers");
  try {
    const proposal = await proposeManifest(folder);
    if (proposal === undefined) return;
    const indented = proposal.text.replaceAll(/^(?=.)/gm, "  ");
    say(
      shell,
      `${shown} has no ${MANIFEST_FILE}. With its ${proposal.evidence} it looks like a ${proposal.kind} worker. Proposed manifest:\n\n${indented}`,
    );
    if (!yes && shell.ask !== undefined) {
      const answer = await shell.ask("Write it? [Y/n] ");
      if (answer === undefined) shell.note("\n");
      if (!/^(?:y|yes|)$/i.test(answer?.trim() ?? "no")) {
        throw new CommandFailure("Nothing was changed.", {
          advice: [`Write ${join(shown, MANIFEST_FILE)} yourself, then add the worker again.`],
        });
      }
    }
    // The flag makes this fail if a manifest was created meanwhile, so that it is not overwritten.
    await writeFile(proposal.file, proposal.text, { flag: "wx" });
    shell.note(`${join(shown, MANIFEST_FILE)} was written; edit it if needed\n`);
  } catch (error) {
    if (error instanceof ManifestError) throw new CommandFailure(error.message, { cause: error });
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(`${join(shown, MANIFEST_FILE)} cannot be written: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
