import { Command } from "commander";
import { withAllEngines } from "../engine/cluster-engines.ts";
import { engineAddress, probe } from "../engine/engine-address.ts";
import { withEngine } from "../engine/engine-session.ts";
import type { ListedEntry } from "../project/config-entries.ts";
import { localProject, type Project, projectOfEngine } from "../project/project.ts";
import { runForEach } from "../run-for-each.ts";
import type { Shell } from "../shell.ts";
import { confirm } from "../terminal/confirm.ts";
import { sayNote } from "../terminal/notes.ts";
import { dependentsFirst, entryNamed, removeWorker } from "../workers/remove-worker.ts";
import { type EngineCalls, listWorkers } from "../workers/worker-functions.ts";
import { configOption, urlOption } from "./options.ts";

interface RemoveOptions {
  readonly yes?: true;
  readonly url?: string;
  readonly config?: string;
  readonly json?: true;
}

/** `svc worker remove`: removes workers from the config file, so that the engine stops them. */
export function workerRemoveCommand(shell: Shell): Command {
  return new Command("remove")
    .alias("rm")
    .summary("remove workers from the config file and stop them")
    .description(
      "Remove workers from the config file of the running engine, which stops them, and wait until they have exited. Their folders are not changed.",
    )
    .argument("<name...>", "names of workers, as shown by `svc worker list`")
    .option("-y, --yes", "skip the confirmation prompt; without a terminal there is no prompt")
    .addOption(urlOption())
    .addOption(configOption("config file to remove from when no engine runs"))
    .option("--json", "print the result as JSON on standard output")
    .addHelpText(
      "after",
      "\nExamples:\n  svc worker remove math-worker\n  svc worker remove math-worker caller-worker --yes\n  svc worker remove svc-state\n",
    )
    .action((names: readonly string[], options: RemoveOptions, command: Command) =>
      removeWorkers(shell, [...new Set(names)], { ...options, ...command.optsWithGlobals<{ config?: string }>() }),
    );
}

async function removeWorkers(shell: Shell, names: readonly string[], options: RemoveOptions): Promise<void> {
  const address = engineAddress(shell, options);
  const problem = await probe(address);
  if (problem !== undefined)
    return await removeAll(shell, names, {
      project: localProject(shell, address, { config: options.config, problem }),
      engine: undefined,
      options,
    });
  await withEngine(address, "svc worker remove", async (engine, reached) => {
    const project = await projectOfEngine(shell, engine, { address, config: options.config });
    await withAllEngines(shell, engine, {
      options,
      reached,
      commandName: "svc worker remove",
      action: (engines) => removeAll(shell, names, { project, engine: engines, options }),
    });
  });
}

interface Removing {
  readonly project: Project;
  readonly engine: EngineCalls | undefined;
  readonly options: RemoveOptions;
}

async function removeAll(
  shell: Shell,
  names: readonly string[],
  { project, engine, options }: Removing,
): Promise<void> {
  const entries = new Map<string, ListedEntry>();
  // A mistyped name is reported before anything is changed.
  for (const name of names) entries.set(name, await entryNamed(name, project));
  await warnAboutModules(shell, [...entries.values()], engine);
  const shown = [...entries.values()].map(({ name }) => name).join(", ");
  // Without a terminal there is no confirmation, because a script calls this on purpose, and the worker's files stay.
  if (shell.ask !== undefined) await confirm(shell, `Remove ${shown} from ${project.shownConfig}?`, options);
  await runForEach(shell, {
    names: dependentsFirst(entries),
    verb: "be removed",
    json: options.json ?? false,
    action: async (name, signal) =>
      removeWorker(shell, entries.get(name) ?? (await entryNamed(name, project)), { project, engine, signal }),
  });
}

/** Warns that the functions of a removed module will be missing, because other workers may use them. */
async function warnAboutModules(
  shell: Shell,
  entries: readonly ListedEntry[],
  engine: EngineCalls | undefined,
): Promise<void> {
  const modules = entries.filter(({ folder }) => folder === undefined);
  if (modules.length === 0 || engine === undefined) return;
  const workers = await listWorkers(engine);
  for (const { name } of modules) {
    const worker = workers.find((known) => known.name === name);
    const lost = [
      ...(worker === undefined || worker.functions.length === 0
        ? []
        : [`calls of ${shortList(worker.functions)} fail`]),
      ...(worker === undefined || worker.trigger_types.length === 0
        ? []
        : [`triggers of type ${shortList(worker.trigger_types)} do not fire`]),
    ];
    if (lost.length > 0) sayNote(shell, `without ${name}, ${lost.join(", and ")}. What it stored stays on disk.`);
  }
}

const SHOWN_IDS = 4;

function shortList(ids: readonly string[]): string {
  return ids.length <= SHOWN_IDS
    ? ids.join(", ")
    : `${ids.slice(0, SHOWN_IDS - 1).join(", ")} and ${ids.length - SHOWN_IDS + 1} more`;
}
