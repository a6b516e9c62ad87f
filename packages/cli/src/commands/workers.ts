import { Command } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { listConnected, type WorkerRow } from "../engine/listings.ts";
import type { Shell } from "../shell.ts";
import { table } from "../terminal/table.ts";
import { ago } from "../terminal/times.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface WorkersOptions extends EngineOptions {
  readonly search?: string;
  readonly all?: true;
  readonly json?: true;
}

/** `svc workers`: lists connected workers. */
export function workersCommand(shell: Shell): Command {
  const command = new Command("workers")
    .summary("list the connected workers, including remote ones")
    .description(
      "List the workers that are connected to the engine: local ones, which the engine started, and remote ones, which connected on their own. " +
        "For the workers of the config file, connected or not, use `svc worker list`.",
    )
    .option("--search <text>", "only workers with this text in their name or description")
    .option("--all", "also the engine's modules, consoles and commands")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExamples:\n  svc workers\n  svc workers --all\n  svc workers --json | jq '.workers[] | {name, pid}'\n",
    );
  return withEngineOptions(command).action((own: WorkersOptions) => list(shell, command, allOptions(own, command)));
}

async function list(shell: Shell, command: Command, options: WorkersOptions): Promise<void> {
  const { search, all } = options;
  const workers = await askEngine(shell, { command, options, access: "reads" }, (engine) =>
    listConnected(engine, { search, include_internal: all }),
  );
  if (options.json) shell.out(`${JSON.stringify({ workers })}\n`);
  else if (workers.length === 0) {
    shell.note(
      search === undefined
        ? "No worker is connected. Add one with: svc worker add ./workers/math-worker\n"
        : `No connected worker matches ${JSON.stringify(search)}.\n`,
    );
  } else {
    const options = { columns: shell.outColumns, whole: ["NAME"], first: ["PROCESS"] };
    const hasNodes = workers.some(({ node }) => node !== undefined);
    const heads = ["NAME", "KIND", ...(hasNodes ? ["NODE"] : []), ...HEADS];
    const rows = workers.map((worker) => row(worker, hasNodes));
    shell.out(table(heads, rows, options));
  }
}

const HEADS = ["SDK", "PROCESS", "FUNCTIONS", "RUNNING", "CONNECTED"];

function row(worker: WorkerRow, hasNodes: boolean): readonly string[] {
  const {
    name,
    node = "-",
    runtime,
    version,
    pid,
    ip_address,
    function_count,
    active_invocations,
    connected_at_ms,
  } = worker;
  const where = [
    pid === null ? [] : [String(pid)],
    kindOf(worker) === "remote" && ip_address !== null ? [`at ${ip_address}`] : [],
  ]
    .flat()
    .join(" ");
  return [
    name,
    kindOf(worker),
    ...(hasNodes ? [node] : []),
    `${runtime} ${version ?? ""}`.trim(),
    where,
    String(function_count),
    String(active_invocations),
    ago(connected_at_ms),
  ];
}

function kindOf({ kind, configured_worker }: WorkerRow): string {
  if (kind !== "worker") return kind;
  return configured_worker === null ? "remote" : "local";
}
