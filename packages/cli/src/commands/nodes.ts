import type { NodeListing, NodeReport } from "@svc-runtime/protocol/listings";
import { Command } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { listNodes } from "../engine/listings.ts";
import type { Shell } from "../shell.ts";
import { sayReason } from "../terminal/notes.ts";
import { table } from "../terminal/table.ts";
import { ago } from "../terminal/times.ts";
import { nodesDrainCommand, nodesUndrainCommand } from "./nodes-drain.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface NodesOptions extends EngineOptions {
  readonly json?: true;
}

/** `svc nodes`: lists the engines of a cluster. */
export function nodesCommand(shell: Shell): Command {
  const command = new Command("nodes")
    .summary("list the engines of the cluster")
    .description(
      "List the engines of the cluster, as one of them sees them: state, address, load, how many entries of the logs each still has to apply, and how far its clock is from that of the engine that was asked. An engine that is alone lists itself.",
    )
    .addOption(jsonOption())
    .addCommand(nodesDrainCommand(shell))
    .addCommand(nodesUndrainCommand(shell))
    .addHelpText(
      "after",
      "\nExamples:\n  svc nodes\n  svc nodes drain a\n  svc nodes --json | jq '.nodes[] | {name, state}'\n  svc nodes --url ws://10.0.0.1:49134,ws://10.0.0.2:49134\n",
    );
  return withEngineOptions(command).action((own: NodesOptions) => list(shell, command, allOptions(own, command)));
}

const HEADS = [
  "NODE",
  "STATE",
  "ADDRESS",
  "HTTP API",
  "PID",
  "VERSION",
  "WORKERS",
  "CALLS",
  "BEHIND",
  "CLOCK",
  "DURABILITY",
];

async function list(shell: Shell, command: Command, options: NodesOptions): Promise<void> {
  const nodes = await askEngine(shell, { command, options, access: "reads" }, listNodes);
  if (options.json) {
    shell.out(`${JSON.stringify({ nodes })}\n`);
    return;
  }
  shell.out(
    table(HEADS, nodes.map(row), {
      columns: shell.outColumns,
      whole: ["NODE", "STATE", "ADDRESS"],
      first: ["HTTP API", "VERSION", "PID"],
    }),
  );
  for (const node of nodes) for (const reason of reasonsOf(node)) sayReason(shell, node.name, reason);
}

function row({ name, state, gone_at_ms, report }: NodeListing): readonly string[] {
  const shown = gone_at_ms === null ? state : `${state} ${ago(gone_at_ms)}`;
  if (report === null) return [name, shown, "-", "-", "-", "-", "-", "-", "-", "-", "-"];
  const { version, pid, addresses, workers, calls_in_flight, clock_offset_ms, durability } = report;
  return [
    name,
    shown,
    addresses.bridge,
    addresses.http,
    String(pid),
    version,
    String(workers),
    String(calls_in_flight),
    behindOf(report),
    offset(clock_offset_ms),
    durability ?? "-",
  ];
}

/** Returns how many entries the engine still has to apply, e.g. `0`, or `12 (queue 10, state 2)`. */
function behindOf({ stores }: NodeReport): string {
  if (stores.length === 0) return "-";
  const late = stores.filter(({ behind }) => behind > 0);
  const sum = late.reduce((total, { behind }) => total + behind, 0);
  return late.length === 0 ? "0" : `${sum} (${late.map(({ store, behind }) => `${store} ${behind}`).join(", ")})`;
}

function offset(ms: number): string {
  if (ms === 0) return "0";
  return `${ms > 0 ? "+" : "-"}${(Math.abs(ms) / 1_000).toFixed(1)} s`;
}

function reasonsOf({ reason, report }: NodeListing): readonly string[] {
  const stores = (report?.stores ?? []).flatMap(({ store, problem }) =>
    problem === null ? [] : [`store ${store}: ${problem}`],
  );
  const durability = report?.durability_reason ?? undefined;
  return [
    ...(reason === null ? [] : [reason]),
    ...(durability === undefined ? [] : [`durability: relaxed; ${durability}`]),
    ...stores,
  ];
}
