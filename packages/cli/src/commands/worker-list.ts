import { Command } from "commander";
import { askAllEngines } from "../engine/cluster-engines.ts";
import type { Shell } from "../shell.ts";
import { outPaint } from "../terminal/colors.ts";
import { formatBytes } from "../terminal/format-bytes.ts";
import { sayReason } from "../terminal/notes.ts";
import { table } from "../terminal/table.ts";
import { span } from "../terminal/times.ts";
import { listWorkers, type WorkerReport } from "../workers/worker-functions.ts";
import { stateColor } from "../workers/worker-page.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface ListOptions extends EngineOptions {
  readonly all?: true;
  readonly json?: true;
}

/** `svc worker list`: lists the workers of the config file with their state. */
export function workerListCommand(shell: Shell): Command {
  const command = new Command("list")
    .alias("ls")
    .summary("list the workers of the engine's config file")
    .description(
      "List the workers of the engine's config file with state, CPU and memory, restarts after crashes, uptime and functions.",
    )
    .option("--all", "also workers that the engine did not start, from this machine or another")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExamples:\n  svc worker list\n  svc worker list --all\n  svc worker list --json | jq '.workers[] | {name, state, memory_bytes}'\n",
    );
  return withEngineOptions(command).action((own: ListOptions) => list(shell, command, allOptions(own, command)));
}

const HEADS = ["KIND", "STATE", "CPU", "MEMORY", "RESTARTS", "UPTIME", "FUNCTIONS"] as const;

async function list(shell: Shell, command: Command, options: ListOptions): Promise<void> {
  const workers = await askAllEngines(shell, { command, options, access: "reads" }, (engine) =>
    listWorkers(engine, { includeRemote: options.all ?? false }),
  );
  if (options.json) {
    shell.out(`${JSON.stringify({ workers })}\n`);
    return;
  }
  if (workers.length === 0) {
    shell.note("No workers. Add one with: svc worker add ./workers/math-worker\n");
    return;
  }
  const paint = outPaint(shell);
  const style = (cell: string, { row: index, head }: { readonly row: number; readonly head: string }): string => {
    const worker = workers[index];
    return head === "STATE" && worker !== undefined ? paint[stateColor(worker.state)](cell) : cell;
  };
  const hasNodes = workers.some(({ node }) => node !== undefined);
  const heads = hasNodes ? ["NAME", "NODE", ...HEADS] : ["NAME", ...HEADS];
  const rows = workers.map((worker) => [worker.name, ...(hasNodes ? [worker.node ?? "-"] : []), ...row(worker)]);
  shell.out(
    table(heads, rows, {
      columns: shell.outColumns,
      whole: ["NAME", "STATE"],
      first: ["FUNCTIONS", "KIND"],
      style,
    }),
  );
  for (const { name, state, reason } of workers) {
    if (reason === null || state === "stopped") continue;
    sayReason(shell, name, reason);
    shell.note(`      More: svc worker status ${name}\n`);
  }
}

function row({
  kind,
  state,
  replicas,
  cpu_percent,
  memory_bytes,
  restarts,
  ready_at,
  functions,
  trigger_types,
}: WorkerReport): readonly string[] {
  const ready = replicas.filter((replica) => replica.state === "ready").length;
  const runsHere = kind === "local" || kind === "command";
  const provided = [
    ...shortened(functions),
    ...shortened(trigger_types).map((id, index) => (index === 0 ? `trigger types: ${id}` : id)),
  ];
  return [
    kind,
    replicas.length > 1 ? `${state} ${ready}/${replicas.length}` : state,
    cpu_percent === null ? "-" : `${cpu_percent.toFixed(1)}%`,
    memory_bytes === null ? "-" : formatBytes(memory_bytes),
    runsHere ? String(restarts) : "-",
    ready_at === null ? "-" : span(Date.now() - Date.parse(ready_at)),
    provided.join(", "),
  ];
}

/** Maximum number of ids shown. It is limited because a worker may have hundreds of functions. */
const SHOWN_IDS = 4;

/** Returns all ids. If there are too many, returns the first ones and the number of the others. */
function shortened(ids: readonly string[]): readonly string[] {
  return ids.length <= SHOWN_IDS ? ids : [...ids.slice(0, SHOWN_IDS - 1), `and ${ids.length - SHOWN_IDS + 1} more`];
}
