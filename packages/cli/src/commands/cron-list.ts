import { Command } from "commander";
import { type CronTrigger, listCronTriggers } from "../cron-triggers.ts";
import { askEngine } from "../engine/engine-request.ts";
import type { Shell } from "../shell.ts";
import { sayReason } from "../terminal/notes.ts";
import { table } from "../terminal/table.ts";
import { ago } from "../terminal/times.ts";
import { statusStyle } from "./functions.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface ListOptions extends EngineOptions {
  readonly json?: true;
}

/** `svc cron list`: lists schedules. */
export function cronListCommand(shell: Shell): Command {
  const command = new Command("list")
    .summary("list schedules with their next and last run")
    .description(
      "List the triggers of type cron: schedule, next run, last run and its outcome. --json shows the next five runs.",
    )
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExamples:\n  svc cron list\n  svc cron list --json | jq '.triggers[] | {function_id, next_runs}'\n",
    );
  return withEngineOptions(command).action((own: ListOptions) => list(shell, command, allOptions(own, command)));
}

async function list(shell: Shell, command: Command, options: ListOptions): Promise<void> {
  const triggers = await askEngine(shell, { command, options, access: "reads" }, listCronTriggers);
  if (options.json) shell.out(`${JSON.stringify({ triggers })}\n`);
  else if (triggers.length === 0) shell.note("There are no triggers of type cron.\n");
  else {
    const options = {
      columns: shell.outColumns,
      whole: ["FUNCTION", "STATUS"],
      first: ["LAST"],
      below: "ID",
      style: statusStyle(shell),
    };
    shell.out(table(["FUNCTION", "SCHEDULE", "NEXT", "LAST", "STATUS", "ID"], triggers.map(row), options));
    for (const { function_id, expression, reason } of triggers)
      if (reason !== undefined) sayReason(shell, `${function_id}, ${expression}`, reason);
  }
}

function row({
  trigger_id,
  function_id,
  expression,
  timezone,
  next_runs: [next],
  last_run,
  status,
}: CronTrigger): readonly string[] {
  const startedAt = last_run?.started_at ?? undefined;
  const last =
    last_run === undefined
      ? "never"
      : `${last_run.outcome ?? "running"}${startedAt === undefined ? "" : `, ${ago(Date.parse(startedAt))}`}`;
  const zone = timezone === "UTC" ? "" : ` (${timezone})`;
  return [
    function_id,
    `${expression}${zone}`,
    next === undefined ? "" : ago(Date.parse(next)),
    last,
    status,
    trigger_id,
  ];
}
