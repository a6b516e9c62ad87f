import { CallError, MAX_TIMEOUT_MS, nameProblem, quoteWord } from "@svc-runtime/protocol";
import type { Worker } from "@svc-runtime/sdk";
import { Command, InvalidArgumentError } from "commander";
import { didYouMean } from "../did-you-mean.ts";
import { cancellable } from "../engine/call-progress.ts";
import { engineAddress } from "../engine/engine-address.ts";
import { payloadWith } from "../engine/engine-request.ts";
import { withEngine } from "../engine/engine-session.ts";
import { listFunctions } from "../engine/listings.ts";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import {
  checkedJson,
  isField,
  type JsonSource,
  jsonArgument,
  jsonFromFile,
  objectOfFields,
  quotingAdvice,
} from "../functions/json-input.ts";
import { textMembersOf } from "../functions/text-members.ts";
import { listQueues } from "../queues/queues.ts";
import type { Shell } from "../shell.ts";
import { formatJson, formatResult } from "../terminal/json-format.ts";
import { printTraceOfCall } from "../traces/call-trace.ts";
import { addModule, moduleOf, notFound } from "../workers/missing-module.ts";
import { unreadyWorkers } from "../workers/unready-workers.ts";
import { allOptions, type EngineOptions, withEngineOptions } from "./options.ts";

const DEFAULT_CALL_TIMEOUT_MS = 30_000;
/** Maximum number of queue names in a hint. */
const MAX_QUEUES = 10;
const PAYLOAD: JsonSource = { noun: "payload", example: `--payload='{"a": 2, "b": 3}'` };

interface TriggerOptions extends EngineOptions {
  readonly functionId?: string;
  readonly payload?: string;
  readonly payloadFile?: string;
  readonly metadata?: string;
  readonly void?: true;
  readonly enqueue?: string;
  readonly trace?: true;
  readonly timeoutMs: number;
}

/** `svc trigger`: calls one function and prints its result. */
export function triggerCommand(shell: Shell): Command {
  const command = new Command("trigger")
    .summary("call a function and print its JSON result")
    .description(
      "Call a function and print its JSON result on standard output. If the call fails, it prints one JSON line {code, message} on standard error and exits with 1. " +
        "Ctrl-C cancels the call.\n\n" +
        "The payload is JSON, or key=value words that form an object. In key=value, a value that is valid JSON is used as JSON (a=2, list='[1]'); anything else is a string " +
        `(name=Ada). Where the function's request format says string, id=1 is a string too; elsewhere quotes make it one (zip='"1234"').`,
    )
    .argument("[function]", "function to call, e.g. math::add")
    .argument("[fields...]", "members of the payload as key=value; or - to read the payload from standard input")
    .usage("<function> [key=value...] [options]")
    .option("--function-id <function>", "function to call, as an option instead of an argument", parseFunctionId)
    .option("--payload <json>", 'payload of the call: JSON, @FILE, or - for standard input (default: "{}")')
    .option("--payload-file <file>", "file with the payload; - for standard input")
    .option("--metadata <json>", "metadata that the function receives beside the payload")
    .option("--void", "do not wait for a result; a lost call is not reported")
    .option("--enqueue <queue>", "enqueue the call as a job and print the job's id")
    .option("--trace", "print the trace of the call on standard error, after its result")
    .option("--timeout-ms <n>", "timeout of the call in milliseconds", parseTimeoutMs, DEFAULT_CALL_TIMEOUT_MS)
    .addHelpText(
      "after",
      `
Examples:
  svc trigger math::add a=2 b=3
  svc trigger math::add --payload='{"a": 2, "b": 3}' --trace
  svc trigger report::build --payload-file order.json --timeout-ms 120000
  jq .order order.json | svc trigger report::build -
  svc trigger mail::send to=ada@example.com --enqueue default
  svc trigger --function-id=state::get --payload='{"scope": "math", "key": "running_total"}' --url ws://localhost:49134
`,
    );
  return withEngineOptions(command).action(
    (first: string | undefined, rest: readonly string[], options: TriggerOptions) =>
      callFunction(shell, allOptions(options, command), first === undefined ? rest : [first, ...rest]),
  );
}

async function callFunction(shell: Shell, options: TriggerOptions, words: readonly string[]): Promise<void> {
  const [functionId, given] = options.functionId === undefined ? namedFunction(words) : [options.functionId, words];
  rejectConflicts(options);
  const payload = await payloadOf(shell, options, { functionId, words: given });
  const metadata: unknown =
    options.metadata === undefined
      ? undefined
      : JSON.parse(checkedJson(options.metadata, { noun: "metadata", example: `--metadata='{"why": "a test"}'` }));
  await withEngine(
    engineAddress(shell, options),
    "svc trigger",
    async (engine) => {
      const call = {
        function_id: functionId,
        payload: await payload(engine),
        timeoutMs: options.timeoutMs,
        metadata,
      };
      try {
        if (options.void) await engine.callVoidJson(call);
        else if (options.enqueue === undefined) await printResult(shell, engine, call);
        else await enqueue(shell, engine, { queue: options.enqueue, functionId, payload: call.payload });
      } catch (error) {
        if (!CallError.is(error)) throw error;
        const failure = { code: error.code, message: error.message, ...(await hintFor(engine, error, options)) };
        shell.note(`${formatJson(JSON.stringify(failure), "line")}\n`);
        throw new CommandFailure("", { cause: error });
      } finally {
        if (options.trace) await printTraceOfCall(shell, engine, functionId);
      }
    },
    shell,
  );
}

async function printResult(shell: Shell, engine: Worker, call: Parameters<Worker["callJson"]>[0]): Promise<void> {
  const result = await cancellable(shell, `Calling ${call.function_id}`, (signal) =>
    engine.callJson({ ...call, signal }),
  );
  shell.out(`${formatResult(result, shell.outColumns)}\n`);
}

/** Calls `queue::enqueue` with the payload as text, so that large numbers are not rounded. */
async function enqueue(
  shell: Shell,
  engine: Worker,
  { queue, functionId, payload }: { readonly queue: string; readonly functionId: string; readonly payload: string },
): Promise<void> {
  const request = payloadWith({ queue, function_id: functionId }, { name: "data", json: payload });
  const answer = await engine.callJson({ function_id: "queue::enqueue", payload: request });
  const { job_id } = JSON.parse(answer) as { readonly job_id: string };
  shell.out(`${job_id}\n`);
}

/** Returns a hint for the failure line: a similar name, workers that are not ready, or a missing module. */
async function hintFor(
  engine: Worker,
  error: CallError,
  { enqueue: queue }: TriggerOptions,
): Promise<{ readonly hint?: string }> {
  const hints = await hintsFor(engine, { error, queue }).catch((): readonly string[] => []);
  return hints.length === 0 ? {} : { hint: hints.join("; ") };
}

/** Returns the hints. Throws if the known names cannot be listed. */
async function hintsFor(
  engine: Worker,
  { error, queue }: { readonly error: CallError; readonly queue: string | undefined },
): Promise<readonly string[]> {
  if (error.code === "queue_not_found" && queue !== undefined) {
    const known = (await listQueues(engine)).map(({ queue: name }) => name);
    const rest = known.length > MAX_QUEUES ? `, and ${known.length - MAX_QUEUES} more` : "";
    return [
      (await similarName(queue, known)) ||
        (known.length === 0 ? "there are no queues" : `queues: ${known.slice(0, MAX_QUEUES).join(", ")}${rest}`),
    ];
  }
  const functionId = notFound(error);
  if (functionId === undefined) return [];
  const module = moduleOf(functionId);
  if (module !== undefined) return [addModule(module)];
  const functions = await listFunctions(engine, { include_internal: true });
  const known = functions.map(({ function_id }) => function_id);
  return [await similarName(functionId, known), ...(await unreadyWorkers(engine))].filter((hint) => hint !== "");
}

async function similarName(name: string, known: readonly string[]): Promise<string> {
  return (await didYouMean(name, known)).replace("; ", "");
}

function namedFunction([id, ...rest]: readonly string[]): readonly [string, readonly string[]] {
  if (id === undefined)
    throw usageFailure(
      "The function to call is missing.",
      "  svc trigger math::add a=2 b=3",
      "See: svc trigger --help",
    );
  const problem = isField(id) ? `${JSON.stringify(id)} is not a function id` : nameProblem(id, "the function id");
  if (problem !== undefined)
    throw usageFailure(`The first argument must be a function id; ${problem}.`, "  svc trigger math::add a=2 b=3");
  return [id, rest];
}

function rejectConflicts({ void: isVoid, enqueue: queue, trace, metadata }: TriggerOptions): void {
  if (isVoid && queue !== undefined)
    throw usageFailure("--void and --enqueue cannot be used together; give one of them.");
  if (trace && (isVoid || queue !== undefined))
    throw usageFailure("--trace needs a finished call, but --void and --enqueue do not wait for it.");
  if (queue !== undefined && metadata !== undefined)
    throw usageFailure("A job has no --metadata; put it into the payload.");
}

interface Given {
  readonly functionId: string;
  readonly words: readonly string[];
}

/** Returns a function that returns the payload. Throws usage errors immediately, before the engine is called. */
async function payloadOf(
  shell: Shell,
  { payload, payloadFile }: TriggerOptions,
  { functionId, words }: Given,
): Promise<(engine: Worker) => string | Promise<string>> {
  if (payload !== undefined && payloadFile !== undefined)
    throw usageFailure("--payload and --payload-file cannot be used together; give one of them.");
  const hasOption = payload !== undefined || payloadFile !== undefined;
  const wrong = words.filter((word) => !isField(word));
  if (wrong.length > 0 && !(words.length === 1 && words[0] === "-" && !hasOption))
    throw misplacedWords(wrong, { functionId, isAlone: words.length === 1 && !hasOption });
  if (hasOption && words.length > 0)
    throw usageFailure(`The payload is given twice: by an option and by ${words.join(" ")}`);
  const file = payloadFile ?? (words[0] === "-" ? "-" : undefined);
  if (words.length > 0 && file === undefined) {
    let mayBeText = false;
    const object = objectOfFields(words, (_, json) => {
      mayBeText ||= !json.trimStart().startsWith('"');
      return false;
    });
    return async (engine) => (mayBeText ? objectOfFields(words, await textMembersOf(engine, functionId)) : object);
  }
  const json =
    file === undefined ? await jsonArgument(shell, payload ?? "{}", PAYLOAD) : await jsonFromFile(shell, file, PAYLOAD);
  return () => json;
}

/**
 * Explains words that are neither fields nor options: a payload without its option, or parts of a payload that the
 * shell split.
 */
function misplacedWords(
  words: readonly string[],
  { functionId, isAlone }: { readonly functionId: string; readonly isAlone: boolean },
): CommandFailure {
  const [first = ""] = words;
  if (isAlone) {
    return usageFailure(
      `${JSON.stringify(first)} is neither key=value nor an option. JSON is given with --payload:`,
      `  svc trigger ${quoteWord(functionId)} --payload=${quoteWord(first)}`,
    );
  }
  return usageFailure(
    `These arguments are neither options nor key=value: ${words.join(" ")}`,
    "The shell probably split the payload, because braces and commas have a meaning in the shell.",
    ...quotingAdvice(PAYLOAD.example),
  );
}

function parseFunctionId(id: string): string {
  const problem = nameProblem(id, "the function id");
  if (problem !== undefined) throw new InvalidArgumentError(`${problem}.`);
  return id;
}

function parseTimeoutMs(text: string): number {
  const ms = Number(text);
  if (!/^\d+$/.test(text) || ms < 1 || ms > MAX_TIMEOUT_MS)
    throw new InvalidArgumentError(`Expected whole milliseconds from 1 to ${MAX_TIMEOUT_MS}.`);
  return ms;
}
