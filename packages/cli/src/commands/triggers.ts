import { Command } from "commander";
import { didYouMean } from "../did-you-mean.ts";
import { askEngine } from "../engine/engine-request.ts";
import { listTriggers, triggerTypeIds } from "../engine/listings.ts";
import { CommandFailure } from "../exit-codes.ts";
import { conditionOf, descriptionOf } from "../functions/trigger-condition.ts";
import type { Shell } from "../shell.ts";
import { sayReason } from "../terminal/notes.ts";
import { table } from "../terminal/table.ts";
import { statusStyle } from "./functions.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface TriggersOptions extends EngineOptions {
  readonly type?: string;
  readonly function?: string;
  readonly search?: string;
  readonly all?: true;
  readonly json?: true;
}

/** `svc triggers`: lists triggers. */
export function triggersCommand(shell: Shell): Command {
  const command = new Command("triggers")
    .summary("list the triggers of functions")
    .description(
      "List the triggers with the condition of each (a path, a schedule, a topic), its function, and its status with the reason.",
    )
    .option("--type <type>", "only triggers of this type, e.g. http or cron")
    .option("--function <function>", "only triggers of this function")
    .option("--search <text>", "only triggers with this text in their function, type or config")
    .option("--all", "also the engine's internal triggers")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExamples:\n  svc triggers\n  svc triggers --type http\n  svc triggers --function math::add --json\n",
    );
  return withEngineOptions(command).action((own: TriggersOptions) => list(shell, command, allOptions(own, command)));
}

async function list(shell: Shell, command: Command, options: TriggersOptions): Promise<void> {
  const { type, search, all } = options;
  const query = { trigger_type: type, function_id: options.function, search, include_internal: all };
  const triggers = await askEngine(shell, { command, options, access: "reads" }, async (engine) => {
    const found = await listTriggers(engine, query);
    if (found.length > 0 || type === undefined) return found;
    const known = await triggerTypeIds(engine);
    if (known.includes(type)) return found;
    throw new CommandFailure(`No worker provides the trigger type ${type}${(await didYouMean(type, known)) || "."}`, {
      advice: [`Types: ${known.join(", ")}`],
    });
  });
  if (options.json) shell.out(`${JSON.stringify({ triggers })}\n`);
  else if (triggers.length === 0)
    shell.note(
      `No triggers${type === undefined && search === undefined && options.function === undefined ? "" : " match"}.\n`,
    );
  else {
    const rows = triggers.map(({ trigger_type, config, function_id, status }) => [
      trigger_type,
      conditionOf(trigger_type, config),
      function_id,
      status,
      descriptionOf(config),
    ]);
    const heads = ["TYPE", "CONDITION", "FUNCTION", "STATUS"];
    if (triggers.some(({ config }) => descriptionOf(config) !== "")) heads.push("DESCRIPTION");
    const whole = ["TYPE", "FUNCTION", "STATUS"];
    shell.out(
      table(heads, rows, { columns: shell.outColumns, whole, below: "DESCRIPTION", style: statusStyle(shell) }),
    );
    for (const { trigger_type, config, function_id, reason } of triggers)
      if (reason !== null)
        sayReason(shell, `${trigger_type} ${conditionOf(trigger_type, config)} → ${function_id}`, reason);
  }
}
