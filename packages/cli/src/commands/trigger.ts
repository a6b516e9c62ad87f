import { CallError, MAX_TIMEOUT_MS, nameProblem } from "@svc/protocol";
import { Command, InvalidArgumentError } from "commander";
import { engineAddress } from "../engine-address.ts";
import { withEngine } from "../engine-session.ts";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import { formatJson } from "../json-format.ts";
import { findJsonProblem } from "../json-position.ts";
import type { Shell } from "../shell.ts";
import { configOption, urlOption } from "./options.ts";

const DEFAULT_CALL_TIMEOUT_MS = 30_000;

interface TriggerOptions {
  readonly functionId?: string;
  readonly payload?: string;
  readonly timeoutMs: number;
  readonly url?: string;
  readonly config?: string;
}

/** `svc trigger`: calls one function and prints its result. */
export function triggerCommand(shell: Shell): Command {
  return (
    new Command("trigger")
      .summary("call a function and print its JSON result")
      .description("Call a function and print its JSON result on standard output. A failure is one JSON line {code, message} on standard error and exit 1.")
      .usage("--function-id <id> [options]")
      .option("--function-id <id>", "function to call, e.g. math::add (required)", parseFunctionId)
      .option("--payload <json>", 'what the function gets, as JSON (default: "{}")')
      .option("--timeout-ms <n>", "deadline of the call in milliseconds", parseTimeoutMs, DEFAULT_CALL_TIMEOUT_MS)
      .addOption(urlOption())
      .addOption(configOption("config file to take the bridge port from"))
      // What comes without its option is answered with the option that was meant.
      .allowExcessArguments()
      .addHelpText(
        "after",
        `
Examples:
  svc trigger --function-id=math::add --payload='{"a": 2, "b": 3}'
  svc trigger --function-id=report::build --timeout-ms 120000
  svc trigger --function-id=state::get --payload='{"scope": "math", "key": "running_total"}' --url ws://localhost:49134
`,
      )
      .action((options: TriggerOptions, command: Command) =>
        callFunction(shell, { ...options, ...command.optsWithGlobals<{ config?: string }>() }, command.args),
      )
  );
}

async function callFunction(shell: Shell, options: TriggerOptions, extra: readonly string[]): Promise<void> {
  const { functionId } = options;
  if (functionId === undefined) throw functionIdMissing(extra);
  refuseExtra(extra, { functionId, payload: options.payload });
  const payload = checkedPayload(options.payload ?? "{}");
  const address = engineAddress(shell, options);
  try {
    const result = await withEngine(address, "svc trigger", (worker) => worker.callJson({ function_id: functionId, payload, timeout_ms: options.timeoutMs }));
    shell.out(`${formatResult(result, shell.outColumns)}\n`);
  } catch (error) {
    if (!CallError.is(error)) throw error;
    shell.note(`${JSON.stringify({ code: error.code, message: error.message })}\n`);
    throw new CommandFailure("", { cause: error });
  }
}

const QUOTING_ADVICE = [
  `Put the JSON in single quotes, so that the shell leaves it alone: --payload='{"a": 2, "b": 3}'`,
  String.raw`On Windows: --payload="{\"a\": 2, \"b\": 3}"`,
] as const;

/** The first argument was probably meant to be the id, and the second the payload. */
function functionIdMissing([id, payload]: readonly string[]): CommandFailure {
  if (id === undefined) return usageFailure("--function-id says which function to call, and it is missing.", "See: svc trigger --help");
  const shownPayload = payload === undefined ? "" : ` --payload='${payload.replaceAll("'", "'\\''")}'`;
  return usageFailure("The function is named with --function-id:", `  svc trigger --function-id='${id.replaceAll("'", "'\\''")}'${shownPayload}`);
}

/** What is left over is a payload without its option, or pieces of one that the shell took apart. */
function refuseExtra(extra: readonly string[], { functionId, payload }: { readonly functionId: string; readonly payload: string | undefined }): void {
  const [first] = extra;
  if (first === undefined) return;
  if (payload === undefined && extra.length === 1) {
    throw usageFailure("The payload is given with --payload:", `  svc trigger --function-id='${functionId}' --payload='${first.replaceAll("'", "'\\''")}'`);
  }
  throw usageFailure(
    `These arguments belong to no option: ${extra.join(" ")}`,
    "It looks as if the shell took the payload apart: braces and commas mean something to it.",
    ...QUOTING_ADVICE,
  );
}

function parseFunctionId(id: string): string {
  const problem = nameProblem(id, "the function id");
  if (problem !== undefined) throw new InvalidArgumentError(`${problem}.`);
  return id;
}

function parseTimeoutMs(text: string): number {
  const ms = Number(text);
  if (!/^\d+$/.test(text) || ms < 1 || ms > MAX_TIMEOUT_MS) throw new InvalidArgumentError(`It takes whole milliseconds from 1 to ${MAX_TIMEOUT_MS}.`);
  return ms;
}

const SHOWN_BEFORE = 20;
const SHOWN_AFTER = 20;

/** The payload, which is sent as it was typed. Text that is not JSON: exit 2, with the place and a word on quoting. */
export function checkedPayload(text: string): string {
  const problem = findJsonProblem(text);
  if (problem === undefined) return text;
  const from = Math.max(0, problem.position - SHOWN_BEFORE);
  const excerpt = text.slice(from, problem.position + SHOWN_AFTER).replaceAll(/\s/g, " ");
  const where = problem.position === text.length ? "it ends too early" : `at position ${problem.position}`;
  throw usageFailure(
    `The payload is not JSON: ${where}, where ${problem.expected} is expected.`,
    `  ${excerpt}`,
    `  ${" ".repeat(problem.position - from)}^`,
    ...QUOTING_ADVICE,
  );
}

/** One line of JSON; indented when it goes to a terminal that is narrower than the line. */
export function formatResult(json: string, columns: number | undefined): string {
  const line = formatJson(json, "line");
  return columns !== undefined && line.length > columns ? formatJson(json, "indented") : line;
}
