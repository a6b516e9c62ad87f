import { Command } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { queueTable } from "../queues/queue-table.ts";
import { listQueues } from "../queues/queues.ts";
import type { Shell } from "../shell.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface ListOptions extends EngineOptions {
  readonly json?: true;
}

/** `svc queue list`: lists queues with their job counts. */
export function queueListCommand(shell: Shell): Command {
  const command = new Command("list")
    .summary("list queues and their job counts")
    .description("List the queues of the config file, of subscriptions, and others that still hold jobs.")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExamples:\n  svc queue list\n  svc queue list --json | jq '.queues[] | select(.dead > 0)'\n",
    );
  return withEngineOptions(command).action((own: ListOptions) => list(shell, command, allOptions(own, command)));
}

async function list(shell: Shell, command: Command, options: ListOptions): Promise<void> {
  const queues = await askEngine(shell, { command, options, access: "reads" }, listQueues);
  if (options.json) {
    shell.out(`${JSON.stringify({ queues })}\n`);
    return;
  }
  shell.out(queueTable(queues, shell));
}
