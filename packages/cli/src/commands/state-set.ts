import { Command } from "commander";
import { askEngine, payloadWith } from "../engine/engine-request.ts";
import { usageFailure } from "../exit-codes.ts";
import { type JsonSource, jsonArgument, jsonFromFile, textOfFile, textOfStdin } from "../functions/json-input.ts";
import type { Shell } from "../shell.ts";
import { formatResult } from "../terminal/json-format.ts";
import {
  allOptions,
  type EngineOptions,
  jsonOption,
  parseDuration,
  wholeNumber,
  withEngineOptions,
} from "./options.ts";

const VALUE: JsonSource = { noun: "value", example: `svc state set users ada '{"name": "Ada"}'` };

interface SetOptions extends EngineOptions {
  readonly file?: string;
  readonly text?: true;
  readonly ifVersion?: number;
  readonly expiresIn?: number;
  readonly json?: true;
}

/** `svc state set`: stores one value. */
export function stateSetCommand(shell: Shell): Command {
  const command = new Command("set")
    .summary("store a value")
    .description(
      "Store a value under a scope and key. The value is JSON from the command line, a file or standard input; with --text it is a plain string.",
    )
    .argument("<scope>", "scope of the key")
    .argument("<key>", "key of the value")
    .argument("[value]", "JSON, @FILE, or - for standard input")
    .option("--file <file>", "file with the value; - for standard input")
    .option("--text", "the value is a plain string, not JSON")
    .option(
      "--if-version <n>",
      "store only if the item has this version; 0: only if it does not exist",
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
    )
    .option("--expires-in <time>", "delete the key after this time, e.g. 90s, 10m, 2d", parseDuration)
    .addOption(jsonOption("print the old value, the new value and the version"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc state set math running_total 0\n  svc state set users ada '{\"name\": \"Ada\"}' --if-version 3\n  svc state set users ada --file ada.json\n  svc state set notes today 'remember the milk' --text --expires-in 1d\n",
    );
  return withEngineOptions(command).action((scope: string, key: string, value: string | undefined, own: SetOptions) =>
    set(shell, command, { scope, key, value, options: allOptions(own, command) }),
  );
}

interface Set {
  readonly scope: string;
  readonly key: string;
  readonly value: string | undefined;
  readonly options: SetOptions;
}

async function set(shell: Shell, command: Command, { scope, key, value, options }: Set): Promise<void> {
  const json = await valueToStore(shell, value, options);
  const payload = payloadWith(
    { scope, key, if_version: options.ifVersion, expires_in_ms: options.expiresIn },
    { name: "value", json },
  );
  const answer = await askEngine(shell, { command, options, access: "changes" }, (engine) =>
    engine.callJson({ function_id: "state::set", payload }),
  );
  if (options.json) shell.out(`${formatResult(answer, shell.outColumns)}\n`);
  const { version } = JSON.parse(answer) as { readonly version: number };
  shell.note(`${shell.paint.green("Stored")} ${scope}/${key}, version ${version}\n`);
}

async function valueToStore(shell: Shell, value: string | undefined, { file, text }: SetOptions): Promise<string> {
  if (value === undefined && file === undefined) {
    throw usageFailure(
      "The value is missing.",
      `  ${VALUE.example}`,
      "From a file: --file FILE, from standard input: -",
    );
  }
  if (value !== undefined && file !== undefined)
    throw usageFailure("The value is given twice: on the command line and by --file; give it once.");
  if (!text) return value === undefined ? jsonFromFile(shell, file ?? "-", VALUE) : jsonArgument(shell, value, VALUE);
  if (value === "-" || value === "@-" || file === "-") return JSON.stringify(await textOfStdin(shell, VALUE.noun));
  const from = file ?? (value?.startsWith("@") ? value.slice(1) : undefined);
  return JSON.stringify(from === undefined ? value : await textOfFile(shell, from));
}
