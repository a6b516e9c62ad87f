import { memberTexts } from "@svc-runtime/protocol/json-text";
import { Command } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { CommandFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { nearestItem } from "../state-items.ts";
import { formatResult } from "../terminal/json-format.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface GetOptions extends EngineOptions {
  readonly json?: true;
}

/** `svc state get`: prints one value. */
export function stateGetCommand(shell: Shell): Command {
  const command = new Command("get")
    .summary("print a value")
    .description(
      "Print the value of a key as JSON, with numbers exactly as stored. Exits with 1 if the key does not exist.",
    )
    .argument("<scope>", "scope of the key")
    .argument("<key>", "key of the value")
    .addOption(jsonOption("print the whole item: value, version, time of the last change"))
    .addHelpText("after", "\nExamples:\n  svc state get math running_total\n  svc state get users ada --json\n");
  return withEngineOptions(command).action((scope: string, key: string, own: GetOptions) =>
    get(shell, command, { scope, key, options: allOptions(own, command) }),
  );
}

interface Get {
  readonly scope: string;
  readonly key: string;
  readonly options: GetOptions;
}

async function get(shell: Shell, command: Command, { scope, key, options }: Get): Promise<void> {
  const entry = await askEngine(shell, { command, options, access: "reads" }, async (engine) => {
    const found = await engine.callJson({ function_id: "state::get_entry", payload: JSON.stringify({ scope, key }) });
    if (found !== "null") return found;
    throw new CommandFailure(`${scope}/${key} not found${await nearestItem(engine, { scope, key })}`);
  });
  const shown = options.json ? entry : (memberTexts(entry).get("value") ?? "null");
  shell.out(`${formatResult(shown, shell.outColumns)}\n`);
}
