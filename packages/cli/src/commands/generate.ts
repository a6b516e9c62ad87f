import { Command } from "commander";
import type { Shell } from "../shell.ts";
import { generateTypesCommand } from "./generate-types.ts";

/** `svc generate`: source made from the running system. */
export function generateCommand(shell: Shell): Command {
  return new Command("generate")
    .summary("write types for the registered functions")
    .description("Write source that follows from the running system.")
    .addCommand(generateTypesCommand(shell))
    .addHelpText("after", "\nExamples:\n  svc generate types --lang typescript --out src/functions.ts\n");
}
