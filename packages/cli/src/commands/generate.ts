import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { compileWildcards, quoteWord } from "@svc-runtime/protocol";
import { Command, InvalidArgumentError, Option } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { listFunctions } from "../engine/listings.ts";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { sayWarning } from "../terminal/notes.ts";
import type { ListedFunction } from "../typegen/typed-function.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

const LANGUAGES = ["typescript", "python"] as const;
type Language = (typeof LANGUAGES)[number];

/**
 * Common short names of the languages. They are suggested, but not accepted, so that the command in the header of
 * generated files always has the same form.
 */
const SHORT_NAMES: Readonly<Record<Language, readonly string[]>> = {
  typescript: ["ts", "tsx", "js", "javascript", "node"],
  python: ["py", "python3"],
};

interface TypesOptions {
  readonly lang: Language;
  readonly out?: string;
  readonly check?: true;
  readonly include?: readonly string[];
  readonly json?: true;
}

/** `svc generate types`: writes types with which the compiler checks calls to other workers. */
export function generateTypesCommand(shell: Shell): Command {
  const command = new Command("types")
    .summary("write types for the formats of the registered functions")
    .description(
      "Write types for the request and response formats of the registered functions, so that tsc or mypy checks calls to them. The output is the same for the same functions.",
    )
    .addOption(
      new Option("--lang <language>", "language to write")
        .choices(LANGUAGES)
        .argParser(parseLanguage)
        .makeOptionMandatory(),
    )
    .option("-o, --out <file>", "file to write (default: standard output)")
    .option("--check", "write nothing; exit with 1 if the file of --out is out of date")
    .option("--include <pattern...>", "only functions whose id matches, e.g. 'math::*' (default: all)")
    .addOption(jsonOption("print the result as JSON; needs --out"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc generate types --lang typescript --out src/functions.ts\n  svc generate types --lang python --include 'math::*' --out functions.py\n  svc generate types --lang typescript --out src/functions.ts --check\n",
    )
    .action((options: TypesOptions, self: Command) => generate(shell, self, allOptions(options, self)));
  return withEngineOptions(command);
}

async function generate(shell: Shell, command: Command, options: TypesOptions & EngineOptions): Promise<void> {
  if (options.out === undefined && (options.check ?? options.json)) {
    throw usageFailure(`${options.check ? "--check" : "--json"} needs a file: --out FILE`);
  }
  const listed = await askEngine(shell, { command, options, access: "reads" }, (engine) => listFunctions(engine));
  const wanted = chosen(listed, options.include);
  const made = await source(wanted, options);
  for (const id of made.differing) {
    sayWarning(
      shell,
      `the workers that provide ${id} register different formats; the types are those of the first one`,
    );
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
      advice: ["List functions: svc functions"],
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
    `Made by \`${commandLine({ lang, include })}\` from the functions registered at that time.`,
    "Do not edit; run the command again.",
    ...(untyped.length === 0 ? [] : [`Without formats, so not listed: ${untyped.join(", ")}`]),
  ].map((line) => line.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " "));
  return {
    text: lang === "python" ? pythonTypes(typed, header) : typescriptTypes(typed, header),
    typed: typed.map(({ id }) => id),
    untyped,
    differing: typed.filter(({ differs }) => differs).map(({ id }) => id),
  };
}

/** Options that determine the generated text. */
interface Named {
  readonly lang: Language;
  readonly out?: string | undefined;
  readonly include?: readonly string[] | undefined;
}

function commandLine({ lang, out, include }: Named): string {
  const flags = [
    ...(out === undefined ? [] : ["--out", out]),
    ...(include ?? []).flatMap((pattern) => ["--include", pattern]),
  ];
  return ["svc generate types --lang", lang, ...flags.map(quoteWord)].join(" ");
}

async function put(
  shell: Shell,
  options: TypesOptions & { readonly out: string },
  { text, typed, untyped, differing }: Made,
): Promise<void> {
  const file = resolve(shell.cwd, options.out);
  const before = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new CommandFailure(`${options.out} cannot be read: ${error.message}`, { cause: error });
  });
  const isChanged = before !== text;
  if (isChanged && !options.check) {
    await writeFile(file, text).catch((error: Error) => {
      throw new CommandFailure(`${options.out} cannot be written: ${error.message}`, {
        advice: ["Create its folder first."],
        cause: error,
      });
    });
  }
  if (options.json)
    shell.out(
      `${JSON.stringify({ file, changed: isChanged, functions: typed, without_formats: untyped, formats_differ: differing })}\n`,
    );
  if (isChanged && options.check) {
    throw new CommandFailure(`${options.out} ${before === undefined ? "does not exist" : "is out of date"}.`, {
      advice: [`Write it: ${commandLine(options)}`],
    });
  }
  shell.note(
    `${options.out} ${isChanged ? "written" : "is up to date"}: ${typed.length} typed, ${untyped.length} without formats\n`,
  );
}

function parseLanguage(text: string): Language {
  const known = LANGUAGES.find((language) => language === text);
  if (known !== undefined) return known;
  const short = text.toLowerCase();
  const meant = LANGUAGES.find((language) => language === short || SHORT_NAMES[language].includes(short));
  throw new InvalidArgumentError(
    meant === undefined ? `Allowed choices are ${LANGUAGES.join(", ")}.` : `Did you mean ${meant}?`,
  );
}

/** `svc generate`: generates source from the running system. */
export function generateCommand(shell: Shell): Command {
  return new Command("generate")
    .summary("write types for the registered functions")
    .description("Generate source code from the running system.")
    .addCommand(generateTypesCommand(shell))
    .addHelpText("after", "\nExamples:\n  svc generate types --lang typescript --out src/functions.ts\n");
}
