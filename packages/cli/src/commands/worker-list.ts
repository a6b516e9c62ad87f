import { Command } from "commander";
import { engineAddress } from "../engine-address.ts";
import { withEngine } from "../engine-session.ts";
import { foreignConfigFile } from "../project.ts";
import type { Shell } from "../shell.ts";
import { table } from "../table.ts";
import { listWorkers, type WorkerReport } from "../worker-functions.ts";
import { configOption, urlOption } from "./options.ts";

interface ListOptions {
  readonly url?: string;
  readonly config?: string;
  readonly json?: true;
}

/** `svc worker list`: the workers of the config file, with how they are. */
export function workerListCommand(shell: Shell): Command {
  return new Command("list")
    .summary("list the workers of the engine's config file")
    .description("List the workers of the engine's config file: state and functions of each.")
    .addOption(urlOption())
    .addOption(configOption("config file to take the bridge port from"))
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  svc worker list\n  svc worker list --json    (all functions; the table shows the first few)\n")
    .action((options: ListOptions, command: Command) => showWorkers(shell, { ...options, ...command.optsWithGlobals<{ config?: string }>() }));
}

async function showWorkers(shell: Shell, options: ListOptions): Promise<void> {
  const address = engineAddress(shell, options);
  const { workers, foreign } = await withEngine(address, "svc worker list", async (engine) => ({
    workers: await listWorkers(engine),
    foreign: await foreignConfigFile(shell, engine, { address, config: options.config }),
  }));
  if (foreign !== undefined) shell.note(`${shell.paint.yellow("note:")} the engine at ${address.shownUrl} is another project's; it runs with ${foreign}\n`);
  if (options.json) shell.out(`${JSON.stringify({ workers })}\n`);
  else if (workers.length === 0) shell.note("No workers. Add one with: svc worker add ./workers/math-worker\n");
  else shell.out(table(["NAME", "KIND", "STATE", "FUNCTIONS"], workers.map(row)));
}

/** A worker may have hundreds. */
const SHOWN_IDS = 4;

function row({ name, kind, state, reason, functions, trigger_types }: WorkerReport): readonly string[] {
  const provided = [
    ...shortened(functions),
    ...shortened(trigger_types).map((id, index) => (index === 0 ? `trigger types: ${id}` : id)),
    ...(reason === null ? [] : [`(${reason})`]),
  ];
  return [name, kind, state, provided.join(", ")];
}

/** All of them, or the first few and how many more there are. */
function shortened(ids: readonly string[]): readonly string[] {
  return ids.length <= SHOWN_IDS ? ids : [...ids.slice(0, SHOWN_IDS - 1), `and ${ids.length - SHOWN_IDS + 1} more`];
}
