import { Command } from "commander";
import type { Shell } from "../shell.ts";
import { stateDeleteCommand } from "./state-delete.ts";
import { stateExportCommand } from "./state-export.ts";
import { stateGetCommand } from "./state-get.ts";
import { stateImportCommand } from "./state-import.ts";
import { stateListCommand } from "./state-list.ts";
import { stateSetCommand } from "./state-set.ts";

/** `svc state`: works on the values of svc-state. */
export function stateCommand(shell: Shell): Command {
  return new Command("state")
    .summary("read and write values of svc-state")
    .description("Read, write, export and import the values of svc-state: JSON by scope and key.")
    .addCommand(stateListCommand(shell))
    .addCommand(stateGetCommand(shell))
    .addCommand(stateSetCommand(shell))
    .addCommand(stateDeleteCommand(shell))
    .addCommand(stateExportCommand(shell))
    .addCommand(stateImportCommand(shell))
    .addHelpText(
      "after",
      "\nExamples:\n  svc state list\n  svc state get math running_total\n  svc state set math running_total 0\n",
    );
}
