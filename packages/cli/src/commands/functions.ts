import { Command } from "commander";
import { didYouMean } from "../did-you-mean.ts";
import { askEngine, codeOf } from "../engine/engine-request.ts";
import { type FunctionDetail, type FunctionRow, listConnected, listFunctions } from "../engine/listings.ts";
import { CommandFailure } from "../exit-codes.ts";
import { functionPage } from "../functions/function-page.ts";
import type { Shell } from "../shell.ts";
import { outPaint } from "../terminal/colors.ts";
import { table } from "../terminal/table.ts";
import { addModule, moduleOf } from "../workers/missing-module.ts";
import { unreadyWorkers } from "../workers/unready-workers.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface FunctionsOptions extends EngineOptions {
  readonly search?: string;
  readonly worker?: string;
  readonly all?: true;
  readonly json?: true;
}

/** `svc functions`: lists functions or describes one. */
export function functionsCommand(shell: Shell): Command {
  const command = new Command("functions")
    .summary("list functions or describe one")
    .description(
      "List the functions of the connected workers. With an id, show the function's request and response format, its providers, its triggers and an example call.",
    )
    .argument("[function]", "function to describe, e.g. math::add")
    .option("--search <text>", "only functions with this text in their id or description; best match first")
    .option("--worker <worker>", "only functions of this worker")
    .option("--all", "also the functions of the engine and its modules")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExamples:\n  svc functions\n  svc functions math::add\n  svc functions --search order --all\n  svc functions --json | jq -r '.functions[].function_id'\n",
    );
  return withEngineOptions(command).action((id: string | undefined, own: FunctionsOptions) => {
    const options = allOptions(own, command);
    return id === undefined ? list(shell, command, options) : describe(shell, command, { id, options });
  });
}

async function list(shell: Shell, command: Command, options: FunctionsOptions): Promise<void> {
  const { search, worker, all } = options;
  const isWhole = all === true || worker !== undefined;
  const { shown, hidden } = await askEngine(shell, { command, options, access: "reads" }, async (engine) => {
    const functions = await listFunctions(engine, { search, worker, include_internal: isWhole });
    const connected = await listConnected(engine, { include_internal: true });
    if (worker !== undefined && !connected.some(({ id, name }) => id === worker || name === worker)) {
      const names = connected.map(({ name }) => name);
      throw new CommandFailure(`No worker ${worker} is connected${(await didYouMean(worker, names)) || "."}`, {
        advice: ["See: svc workers"],
      });
    }
    if (isWhole || search !== undefined) return { shown: functions, hidden: 0 };
    const modules = new Set(connected.filter(({ kind }) => kind === "module").map(({ id }) => id));
    const ofWorkers = functions.filter(({ workers }) => !workers.every(({ id }) => modules.has(id)));
    const whole = options.json ? ofWorkers : await listFunctions(engine, { include_internal: true });
    return { shown: ofWorkers, hidden: whole.length - ofWorkers.length };
  });
  if (options.json) {
    shell.out(`${JSON.stringify({ functions: shown })}\n`);
    return;
  }
  if (shown.length === 0)
    shell.note(
      search === undefined
        ? "No connected worker provides a function.\n"
        : `No function matches ${JSON.stringify(search)}.\n`,
    );
  else {
    const options = { columns: shell.outColumns, whole: ["FUNCTION"], below: "DESCRIPTION", style: statusStyle(shell) };
    const hasNodes = shown.some(({ workers }) => workers.some(({ node }) => node !== undefined));
    const heads = ["FUNCTION", "WORKER", ...(hasNodes ? ["NODE"] : []), "TRIGGERS", "STATUS", "DESCRIPTION"];
    const rows = shown.map((each) => row(each, hasNodes));
    shell.out(table(heads, rows, options));
  }
  if (hidden > 0)
    shell.note(
      shell.paint.dim(
        `${hidden} functions of the engine and its modules are hidden; show them with: svc functions --all\n`,
      ),
    );
}

function row(
  { function_id, workers, triggers, status, description }: FunctionRow,
  hasNodes: boolean,
): readonly string[] {
  return [
    function_id,
    [...new Set(workers.map(({ name }) => name))].join(", "),
    ...(hasNodes ? [[...new Set(workers.flatMap(({ node }) => node ?? []))].sort().join(", ")] : []),
    [...new Set(triggers.map(({ type }) => type))].join(", "),
    status,
    description ?? "",
  ];
}

async function describe(
  shell: Shell,
  command: Command,
  { id, options }: { readonly id: string; readonly options: FunctionsOptions },
): Promise<void> {
  const detail = await askEngine(shell, { command, options, access: "reads" }, async (engine) => {
    try {
      return await engine.call<FunctionDetail>({
        function_id: "engine::functions::info",
        payload: { function_id: id },
      });
    } catch (error) {
      if (codeOf(error) !== "NOT_FOUND") throw error;
      const known = await listFunctions(engine, { include_internal: true });
      const module = moduleOf(id);
      const isThere = module === undefined || known.some(({ workers }) => workers.some(({ name }) => name === module));
      const nearest = await didYouMean(
        id,
        known.map(({ function_id }) => function_id),
      );
      throw new CommandFailure(`No connected worker provides ${id}${nearest || "."}`, {
        advice: isThere ? [...(await unreadyWorkers(engine)), "See: svc functions"] : [addModule(module)],
        cause: error,
      });
    }
  });
  shell.out(options.json ? `${JSON.stringify(detail)}\n` : functionPage(detail, outPaint(shell)));
}

const STATUS_COLORS: Readonly<Record<string, "green" | "yellow" | "red">> = {
  available: "green",
  connected: "green",
  active: "green",
  busy: "yellow",
  draining: "yellow",
  inactive: "yellow",
  paused: "yellow",
  error: "red",
};

/** Returns a style that colours the column STATUS by its value. */
export function statusStyle(shell: Shell): (cell: string, place: { readonly head: string }) => string {
  const paint = outPaint(shell);
  return (cell, { head }) => {
    const color = head === "STATUS" ? STATUS_COLORS[cell.trim()] : undefined;
    return color === undefined ? cell : paint[color](cell);
  };
}
