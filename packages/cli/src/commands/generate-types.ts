import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { compileWildcards, quoteWord } from "@svc/protocol";
import { Command, InvalidArgumentError, Option } from "commander";
import { askEngine } from "../engine-request.ts";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import { listFunctions } from "../listings.ts";
import { sayWarning } from "../remarks.ts";
import type { Shell } from "../shell.ts";
import type { ListedFunction } from "../typegen/typed-function.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

const LANGUAGES = ["typescript", "python"] as const;
type Language = (typeof LANGUAGES)[number];

/** What people call them; not taken, so that what a header says of its command is always one text. */
const SHORT_NAMES: Readonly<Record<Language, readonly string[]>> = { typescript: ["ts", "tsx", "js", "javascript", "node"], python: ["py", "python3"] };

interface TypesOptions {
  readonly lang: Language;
  readonly out?: string;
  readonly check?: true;
  readonly include?: readonly string[];
  readonly json?: true;
}

/** `svc generate types`: so that a call to another worker is checked when it is compiled. */
export function generateTypesCommand(shell: Shell): Command {
  const command = new Command("types")
    .summary("write types for the formats of the registered functions")
    .description(
      "Write types for the request and response formats of the functions that are registered now, so that calls to them are checked by tsc or mypy. The same functions give the same text.",
    )
    .addOption(new Option("--lang <language>", "what to write").choices(LANGUAGES).argParser(parseLanguage).makeOptionMandatory())
    .option("-o, --out <file>", "file to write (default: standard output)")
    .option("--check", "write nothing; exit 1 when the file of --out is not what would be written")
    .option("--include <pattern...>", "only functions whose id matches, e.g. 'math::*' (default: all)")
    .addOption(jsonOption("print what was done as JSON; needs --out"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc generate types --lang typescript --out src/functions.ts\n  svc generate types --lang python --include 'math::*' --out functions.py\n  svc generate types --lang typescript --out src/functions.ts --check\n",
    )
    .action((options: TypesOptions, self: Command) => generate(shell, self, allOptions(options, self)));
  return withEngineOptions(command);
}

async function generate(shell: Shell, command: Command, options: TypesOptions & EngineOptions): Promise<void> {
  if (options.out === undefined && (options.check ?? options.json)) {
    throw usageFailure(`${options.check ? "--check" : "--json"} needs the file that is meant: --out FILE.`);
  }
  const listed = await askEngine(shell, { command, options, access: "reads" }, (engine) => listFunctions(engine));
  const wanted = chosen(listed, options.include);
  const made = await source(wanted, options);
  for (const id of made.differing) {
    sayWarning(shell, `the workers that provide ${id} disagree on its formats; the types are those of the first one`);
  }
  if (options.out === undefined) shell.out(made.text);
  else await put(shell, { ...options, out: options.out }, made);
}

interface Made {
  readonly text: string;
  readonly typed: readonly string[];
  readonly untyped: readonly string[];
  readonly differing: readonly string[];
}

function chosen(listed: readonly ListedFunction[], patterns: readonly string[] | undefined): readonly ListedFunction[] {
  if (patterns === undefined) return listed;
  const matchers = patterns.map(compileWildcards);
  const found = listed.filter(({ function_id }) => matchers.some((matches) => matches(function_id)));
  if (found.length === 0)
    throw new CommandFailure(`No registered function matches ${patterns.join(", ")}.`, {
      advice: ["See which there are: svc functions"],
    });
  return found;
}

async function source(functions: readonly ListedFunction[], { lang, include }: TypesOptions): Promise<Made> {
  const [{ typedFunctions }, { typescriptTypes }, { pythonTypes }] = await Promise.all([
    import("../typegen/typed-function.ts"),
    import("../typegen/typescript.ts"),
    import("../typegen/python.ts"),
  ]);
  const { typed, untyped } = typedFunctions(functions);
  const header = [
    `Made by \`${commandLine({ lang, include })}\` from the functions that were registered then.`,
    "Do not edit: make it anew.",
    ...(untyped.length === 0 ? [] : [`Without formats, and so not here: ${untyped.join(", ")}`]),
  ].map((line) => line.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " "));
  return {
    text: lang === "python" ? pythonTypes(typed, header) : typescriptTypes(typed, header),
    typed: typed.map(({ id }) => id),
    untyped,
    differing: typed.filter(({ differs }) => differs).map(({ id }) => id),
  };
}

/** What of the options says which text is meant. */
interface Named {
  readonly lang: Language;
  readonly out?: string | undefined;
  readonly include?: readonly string[] | undefined;
}

function commandLine({ lang, out, include }: Named): string {
  const flags = [...(out === undefined ? [] : ["--out", out]), ...(include ?? []).flatMap((pattern) => ["--include", pattern])];
  return ["svc generate types --lang", lang, ...flags.map(quoteWord)].join(" ");
}

async function put(shell: Shell, options: TypesOptions & { readonly out: string }, { text, typed, untyped, differing }: Made): Promise<void> {
  const file = resolve(shell.cwd, options.out);
  const before = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new CommandFailure(`${options.out} cannot be read: ${error.message}`, { cause: error });
  });
  const isChanged = before !== text;
  if (isChanged && !options.check) {
    await writeFile(file, text).catch((error: Error) => {
      throw new CommandFailure(`${options.out} cannot be written: ${error.message}`, { advice: ["Its folder must be there."], cause: error });
    });
  }
  if (options.json) shell.out(`${JSON.stringify({ file, changed: isChanged, functions: typed, without_formats: untyped, formats_differ: differing })}\n`);
  if (isChanged && options.check) {
    throw new CommandFailure(`${options.out} ${before === undefined ? "is not there" : "is not what the registered functions say"}.`, {
      advice: [`Write it: ${commandLine(options)}`],
    });
  }
  shell.note(`${options.out} ${isChanged ? "written" : "is up to date"}: ${typed.length} typed, ${untyped.length} without formats\n`);
}

function parseLanguage(text: string): Language {
  const known = LANGUAGES.find((language) => language === text);
  if (known !== undefined) return known;
  const short = text.toLowerCase();
  const meant = LANGUAGES.find((language) => language === short || SHORT_NAMES[language].includes(short));
  throw new InvalidArgumentError(meant === undefined ? `Allowed choices are ${LANGUAGES.join(", ")}.` : `Did you mean ${meant}?`);
}
