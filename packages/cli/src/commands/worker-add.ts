import { quoteWord } from "@svc-runtime/protocol";
import { Command, InvalidArgumentError } from "commander";
import { withAllEngines } from "../engine/cluster-engines.ts";
import { DEFAULT_CONFIG_FILE, engineAddress, probe } from "../engine/engine-address.ts";
import { withEngine } from "../engine/engine-session.ts";
import { usageFailure } from "../exit-codes.ts";
import { isSameFile, localProject, type Project, projectOfEngine } from "../project/project.ts";
import { runForEach } from "../run-for-each.ts";
import type { Shell } from "../shell.ts";
import { say } from "../terminal/notes.ts";
import { type AddRequest, addWorker } from "../workers/add-worker.ts";
import { builtInWorkers } from "../workers/built-in-workers.ts";
import { targetOf, type WorkerTarget } from "../workers/worker-target.ts";
import { configOption, urlOption } from "./options.ts";

/** Maximum of `replicas` that the config file accepts. */
const MAX_REPLICAS = 64;

interface AddOptions {
  readonly force?: true;
  readonly wait: boolean;
  readonly yes?: true;
  readonly name?: string;
  readonly replicas?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly config?: string;
  readonly json?: true;
}

/** `svc worker add`: adds the user's workers by folder, and built-in workers by name. */
export function workerAddCommand(shell: Shell): Command {
  return new Command("add")
    .summary("add workers to the engine and wait until they are ready")
    .description(
      "Add workers: install their dependencies, write them into the config file of the running engine, and wait until they are ready. Without a running engine they start with the next one. A failed worker is reported, and the others are still added.",
    )
    .argument(
      "<worker...>",
      `folder of a worker, e.g. ./workers/math-worker, or the name of a built-in worker: ${builtInWorkers.map(({ name }) => name).join(", ")}`,
    )
    .option("-f, --force", "install again and restart, even if nothing changed or the worker exists")
    .option("--name <name>", "name of the worker in the config file (default: the one in its manifest)")
    .option("--replicas <n>", `number of processes, 1 to ${MAX_REPLICAS}`, parseReplicas)
    .option(
      "-e, --env <NAME=VALUE>",
      "environment variable of the worker, written into the config file; can be repeated",
      collectVariable,
    )
    .option("-y, --yes", "write a manifest without asking if the folder has none")
    .option("--no-wait", "do not wait until the worker is ready")
    .addOption(urlOption())
    .addOption(configOption("config file to add to when no engine runs"))
    .option("--json", "print the result as JSON on standard output")
    .addHelpText(
      "after",
      `
Examples:
  svc worker add ./workers/math-worker
  svc worker add ./workers/math-worker ./workers/caller-worker svc-state
  svc worker add ./workers/math-worker --replicas 3 --env LOG_LEVEL=debug
  svc worker add ./workers/math-worker --force
  svc worker add ./my-project --yes
`,
    )
    .action((names: readonly string[], options: AddOptions, command: Command) =>
      addWorkers(shell, names, { ...options, ...command.optsWithGlobals<{ config?: string }>() }),
    );
}

async function addWorkers(shell: Shell, names: readonly string[], options: AddOptions): Promise<void> {
  const targets = new Map<string, WorkerTarget>();
  // All names are checked before anything is changed.
  for (const name of names) targets.set(name, rejectDuplicate(await targetOf(shell, name), [...targets.values()]));
  if (options.name !== undefined && names.length > 1)
    throw usageFailure("--name needs exactly one worker; add the others with separate commands.");
  const address = engineAddress(shell, options);
  const problem = await probe(address);
  const addAll = (project: Project, engine: AddRequest["engine"]): Promise<void> =>
    runForEach(shell, {
      names,
      verb: "be added",
      json: options.json ?? false,
      action: async (name, signal) => {
        const { force = false, wait, yes = false, name: entryName, replicas, env } = options;
        const target = targets.get(name) ?? (await targetOf(shell, name));
        return await addWorker(shell, target, {
          project,
          engine,
          force,
          wait,
          yes,
          name: entryName,
          replicas,
          env,
          signal,
        });
      },
    });
  if (problem === undefined) {
    await withEngine(address, "svc worker add", async (engine, reached) => {
      const project = await projectOfEngine(shell, engine, { address, config: options.config });
      await withAllEngines(shell, engine, {
        options,
        reached,
        commandName: "svc worker add",
        action: (engines) => addAll(project, engines),
      });
    });
    return;
  }
  const project = localProject(shell, address, { config: options.config, problem });
  await addAll(project, undefined);
  const starts = names.length === 1 ? "the worker starts" : "the workers start";
  say(shell, `No engine runs at ${address.shownUrl}; ${starts} with the next one: ${startEngine(project)}`);
}

function startEngine({ shownConfig }: Project): string {
  return shownConfig === DEFAULT_CONFIG_FILE ? "svc dev" : `svc dev --config ${quoteWord(shownConfig)}`;
}

/** Rejects a worker that is given twice, because the user most likely wants two processes of it. */
function rejectDuplicate(target: WorkerTarget, others: readonly WorkerTarget[]): WorkerTarget {
  const twin = others.find((other) => {
    if (target.kind === "built-in") return other.kind === "built-in" && other.worker.name === target.worker.name;
    return other.kind === "local" && isSameFile(other.folder, target.folder);
  });
  if (twin === undefined) return target;
  if (target.kind === "built-in") throw usageFailure(`${target.worker.name} is given twice.`);
  throw usageFailure(
    `${twin.shown === target.shown ? target.shown : `${twin.shown} and ${target.shown}`} is the same folder, given twice.`,
    `For several processes of one worker: svc worker add ${twin.shown} --replicas 2`,
  );
}

function parseReplicas(text: string): number {
  const replicas = Number(text);
  if (!/^\d+$/.test(text) || replicas < 1 || replicas > MAX_REPLICAS)
    throw new InvalidArgumentError(`Expected a whole number from 1 to ${MAX_REPLICAS}.`);
  return replicas;
}

function collectVariable(
  text: string,
  earlier: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new InvalidArgumentError(
      "Expected NAME=VALUE; a name has letters, digits and _, and does not begin with a digit.",
    );
  }
  if (Object.hasOwn(earlier, name)) throw new InvalidArgumentError(`${name} is given twice.`);
  return { ...earlier, [name]: value };
}
