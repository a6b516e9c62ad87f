import { Command } from "commander";
import type { Shell } from "../shell.ts";
import { configCheckCommand } from "./config-check.ts";
import { configExplainCommand } from "./config-explain.ts";

/** `svc config`: works on the config file without an engine. */
export function configCommand(shell: Shell): Command {
  return new Command("config")
    .summary("validate and explain the config file")
    .description("Validate the config file and explain its keys. Neither needs a running engine.")
    .addCommand(configCheckCommand(shell))
    .addCommand(configExplainCommand(shell))
    .addHelpText("after", "\nExamples:\n  svc config check\n  svc config explain engine.bridge.port\n");
}
