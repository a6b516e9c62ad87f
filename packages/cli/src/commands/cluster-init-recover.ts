import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { LogSource, StartedLog } from "@svc-runtime/engine/cluster";
import { Command } from "commander";
import { CommandFailure } from "../exit-codes.ts";
import { checkConfig, formatFinding, shownPath } from "../project/config-check.ts";
import type { Shell } from "../shell.ts";
import { table } from "../terminal/table.ts";
import { configOption, jsonOption } from "./options.ts";

interface StartOptions {
  readonly from: string;
  readonly config?: string;
  readonly dryRun?: true;
  readonly json?: true;
}

type Kind = "alone" | "replicas";

/** `svc cluster init`: makes the data of an engine without a cluster the first snapshot of an empty cluster. */
export function clusterInitCommand(shell: Shell): Command {
  const command = new Command("init")
    .summary("take an engine's data over into an empty cluster")
    .description(
      "Make the data of an engine that is alone (state, streams, jobs, schedules) the first snapshots of a cluster that has no data. Stop that engine, and start no engine of the cluster before this is done. The servers are those of engine.cluster in the config file. The data folder is not changed.",
    )
    .requiredOption("--from <folder>", "data folder of the engine, e.g. .svc/data")
    .addHelpText(
      "after",
      "\nExamples:\n  svc cluster init --from .svc/data\n  svc cluster init --from .svc/data --config node-a/config.yaml\n",
    );
  return withOptions(shell, command, "alone");
}

/** `svc cluster recover`: makes an engine's copy of a cluster's data the first snapshot of new logs. */
export function clusterRecoverCommand(shell: Shell): Command {
  const command = new Command("recover")
    .summary("begin new logs from an engine's copy, after the NATS servers lost theirs")
    .description(
      "Make an engine's copy of a cluster's data the first snapshots of new logs, after the NATS servers lost theirs or went back. First stop all engines, and give the servers empty folders. Compare the folders of all engines with --dry-run, and take the one with the highest positions: what it lacks is lost. Then move the folder `cluster` out of the data folder of each other engine; that of this one is moved by the command.",
    )
    .requiredOption("--from <folder>", "data folder of the engine that has most, e.g. .svc/data")
    .addHelpText(
      "after",
      "\nExamples:\n  svc cluster recover --from .svc/data --dry-run\n  svc cluster recover --from .svc/data\n",
    );
  return withOptions(shell, command, "replicas");
}

function withOptions(shell: Shell, command: Command, kind: Kind): Command {
  return command
    .option("--dry-run", "only list what would be taken")
    .addOption(jsonOption())
    .addOption(configOption("config file of an engine of the cluster"))
    .action((own: StartOptions) =>
      start(shell, kind, { ...own, ...command.optsWithGlobals<{ readonly config?: string }>() }),
    );
}

async function start(shell: Shell, kind: Kind, options: StartOptions): Promise<void> {
  const dataDir = resolve(shell.cwd, options.from);
  if (!existsSync(dataDir)) throw new CommandFailure(`There is no folder ${options.from}.`);
  // Imported lazily: other commands need neither the engine's code nor the client of NATS.
  const { logSources, startLogs } = await import("@svc-runtime/engine/cluster");
  try {
    if (options.dryRun) {
      const sources = logSources(dataDir, kind);
      shell.out(options.json ? json(sources) : table(["STORE", "POSITION", "FILE"], sources.map(row)));
      return;
    }
    const settings = await clusterOf(shell, options.config);
    const started = await startLogs({ settings, dataDir, kind });
    if (options.json) shell.out(json(started));
    for (const { store, bytes } of started)
      shell.note(`${shell.paint.green("Stored")} ${store}: ${(bytes / 1e6).toFixed(1)} MB\n`);
    shell.note(`The engines of the cluster ${settings.name} begin with these data. Start them now.\n`);
  } catch (error) {
    if (error instanceof Error && REFUSALS.has(error.name)) throw new CommandFailure(error.message, { cause: error });
    throw error;
  }
}

/** Names of errors whose messages are for users. The classes are not imported, because that loads the engine. */
const REFUSALS = new Set(["StartRefused", "NatsProblem", "DatabaseRefused", "LogUnavailable"]);

function json(stores: readonly (LogSource | StartedLog)[]): string {
  return `${JSON.stringify({ stores: stores.map((each) => ({ ...each, position: each.position ?? null })) })}\n`;
}

function row({ store, position, file }: LogSource): readonly string[] {
  return [store, position === undefined ? "-" : String(position), file];
}

async function clusterOf(shell: Shell, file: string | undefined) {
  const report = await checkConfig(shell, file);
  const { config, problems } = report;
  if (config === undefined) throw new CommandFailure(problems.map(formatFinding).join("\n"));
  const { cluster } = config.engine;
  if (cluster === undefined)
    throw new CommandFailure(
      `${shownPath(shell, report.file)} has no block engine.cluster, which names the cluster and its NATS servers.`,
    );
  return cluster;
}
