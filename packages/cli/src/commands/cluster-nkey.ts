import { Command } from "commander";
import type { Shell } from "../shell.ts";
import { jsonOption } from "./options.ts";

/** `svc cluster nkey`: prints a new key with which an engine identifies itself to the servers. */
export function clusterNkeyCommand(shell: Shell): Command {
  return new Command("nkey")
    .summary("print a new key of an engine for the NATS servers")
    .description(
      "Print a new NKey of an engine. The seed is a secret of this engine: give it to engine.cluster.nats.nkey_seed by a variable. The public key goes to `svc cluster nats-config --nkey`.",
    )
    .addOption(jsonOption())
    .addHelpText("after", "\nExamples:\n  svc cluster nkey\n")
    .action(async ({ json }: { readonly json?: true }) => {
      // Imported lazily: other commands need neither the engine's code nor the client of NATS.
      const { newNkey } = await import("@svc-runtime/engine/cluster");
      const { seed, publicKey } = newNkey();
      if (json) shell.out(`${JSON.stringify({ seed, public_key: publicKey })}\n`);
      else shell.out(`seed        ${seed}\npublic key  ${publicKey}\n`);
    });
}
