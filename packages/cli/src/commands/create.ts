import { readdir, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { quoteWord } from "@svc-runtime/protocol";
import { Command } from "commander";
import { didYouMean } from "../did-you-mean.ts";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import {
  bundledTemplates,
  listTemplates,
  placeFile,
  sdkFiles,
  type Template,
  type TemplateFile,
  type TemplateSource,
  templateFiles,
  type Written,
} from "../project/templates.ts";
import type { Shell } from "../shell.ts";
import { say } from "../terminal/notes.ts";
import { folderAt } from "../workers/worker-target.ts";
import { jsonOption } from "./options.ts";

/** Options from the command line. The command prompts for missing ones. */
interface RequestedOptions {
  readonly template?: string;
  readonly directory?: string;
  readonly force?: true;
  readonly json?: true;
}

interface CreateOptions extends RequestedOptions {
  readonly template: string;
  readonly directory: string;
}

/** `svc create`: copies a template's files and the SDK packages into a folder. */
export function createCommand(shell: Shell): Command {
  return new Command("create")
    .summary("scaffold a project from a template")
    .description(
      "Scaffold a project from a template. Prompts for missing values on a terminal. Works offline: templates and SDK packages come with svc.",
    )
    .option("-t, --template <name>", "template to use: quickstart, blank, typescript or python")
    .option("-d, --directory <dir>", "folder of the new project; created if missing")
    .option("-f, --force", "write into a folder that is not empty and overwrite existing files")
    .addOption(jsonOption("print the result as JSON"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc create\n  svc create --template quickstart --directory quickstart\n  svc create -t typescript -d shop --json\n  svc create -t blank -d . --force\n",
    )
    .action((options: RequestedOptions) => createProject(shell, options, bundledTemplates));
}

/**
 * Copies the template. If the project exists already, adds only missing files. Rejects an unknown template, and a
 * folder with other content.
 */
export async function createProject(shell: Shell, requested: RequestedOptions, source: TemplateSource): Promise<void> {
  const known = await listTemplates(source);
  const template =
    requested.template === undefined
      ? await chosenTemplate(shell, known)
      : await namedTemplate(requested.template, known);
  const options: CreateOptions = {
    ...requested,
    template: template.name,
    directory: requested.directory ?? (await chosenDirectory(shell, template)),
  };
  const projectDir = folderAt(shell, options.directory);
  const files = await templateFiles(source, template.name);
  const sdk = await sdkFiles(source);
  if (sdk.length === 0) {
    throw new CommandFailure("The SDK packages that a project needs are not built.", {
      advice: ["Run `npm run build && node scripts/pack-sdks.mjs` at the root of the svc repository."],
    });
  }
  const found = await inspect(projectDir, files, sdk);
  if (found === "other" && options.force === undefined) {
    throw new CommandFailure(`${options.directory} is not empty and is not a ${template.name} project.`, {
      advice: ["Choose another --directory, or pass --force to write into it; files of the same name are overwritten."],
    });
  }

  const existing = options.force ? "replace" : "keep";
  const written = await writeAll(projectDir, files, existing);
  // The SDK packages belong to svc, so they are replaced in an existing project too.
  const sdkWritten = await writeAll(projectDir, sdk, "replace");
  report(shell, options, { template, projectDir, reused: found === "project", written, sdkWritten });
}

async function namedTemplate(name: string, known: readonly Template[]): Promise<Template> {
  const template = known.find((candidate) => candidate.name === name);
  if (template !== undefined) return template;
  const names = known.map((candidate) => candidate.name);
  throw usageFailure(`Unknown template "${name}"${(await didYouMean(name, names)) || "."}`, ...described(known));
}

async function chosenTemplate(shell: Shell, known: readonly Template[]): Promise<Template> {
  if (shell.choose === undefined)
    throw usageFailure("No terminal to prompt on; give the template with --template", ...described(known));
  const name = await shell.choose(
    "Which template?",
    known.map(({ name: value, description: hint }) => ({ value, hint })),
  );
  const template = known.find((candidate) => candidate.name === name);
  if (template === undefined) throw nothingCreated();
  return template;
}

/** Prompts for the folder. Defaults to the template's name. */
async function chosenDirectory(shell: Shell, { name }: Template): Promise<string> {
  if (shell.ask === undefined) throw usageFailure("No terminal to prompt on; give the folder with --directory");
  const answer = await shell.ask(`Folder of the project [${name}]: `);
  if (answer === undefined) {
    shell.note("\n");
    throw nothingCreated();
  }
  return answer.trim() === "" ? name : answer.trim();
}

function nothingCreated(): CommandFailure {
  return new CommandFailure("Nothing was created.");
}

function described(templates: readonly Template[]): readonly string[] {
  return ["Templates:", ...templates.map(({ name, description }) => `  ${name}: ${description}`)];
}

type Found = "nothing" | "project" | "other";

/**
 * Decides whether a folder is a project of this template. It is one if it has the config file and one of the template's
 * workers; for a template without workers, the SDK packages. A worker is recognized by its list of dependencies and not
 * by its name, because templates of different languages have workers of the same name.
 */
async function inspect(
  projectDir: string,
  files: readonly TemplateFile[],
  sdk: readonly TemplateFile[],
): Promise<Found> {
  const entries = await entriesOf(projectDir);
  if (entries.length === 0) return "nothing";
  const dependencies = files.filter((file) => /\/(?:package\.json|requirements\.txt)$/.test(file.to));
  const marks = dependencies.length > 0 ? dependencies : sdk;
  const present = await Promise.all(marks.map((file) => exists(join(projectDir, file.to))));
  return entries.includes("config.yaml") && present.includes(true) ? "project" : "other";
}

async function entriesOf(dir: string): Promise<readonly string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return [];
    if (code === "ENOTDIR")
      throw new CommandFailure(`${dir} is a file, not a folder.`, { advice: ["Choose another --directory."] });
    throw new CommandFailure(`${dir} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

type Outcome = ReadonlyMap<string, Written>;

async function writeAll(
  projectDir: string,
  files: readonly TemplateFile[],
  existing: "keep" | "replace",
): Promise<Outcome> {
  const outcome = new Map<string, Written>();
  try {
    for (const file of files) outcome.set(file.to, await placeFile(file, projectDir, existing));
  } catch (error) {
    throw new CommandFailure(`${projectDir} cannot be written: ${(error as Error).message}`, { cause: error });
  }
  return outcome;
}

interface Report {
  readonly template: Template;
  readonly projectDir: string;
  readonly reused: boolean;
  readonly written: Outcome;
  readonly sdkWritten: Outcome;
}

function report(
  shell: Shell,
  options: CreateOptions,
  { template, projectDir, reused, written, sdkWritten }: Report,
): void {
  const { paint } = shell;
  const changed = named(written, "created", "replaced");
  const sdkChanged = reused ? named(sdkWritten, "created", "replaced") : [];
  if (options.json) {
    const files = Object.fromEntries([...written, ...sdkWritten]);
    shell.out(
      `${JSON.stringify({ template: options.template, directory: projectDir, reused, sdk_changed: sdkChanged.length > 0, files })}\n`,
    );
  }
  const shown = relative(shell.cwd, projectDir) || ".";
  if (reused) {
    say(shell, `${shown} is already a ${options.template} project${changed.length === 0 ? "; no file changed" : ""}.`);
    for (const file of changed) shell.note(`  ${written.get(file)} ${file}\n`);
    if (sdkChanged.length > 0)
      say(
        shell,
        "The SDK packages in sdk/ changed. The next start of the engine installs them; with a running engine: svc worker update --all",
      );
  } else {
    shell.note(`${paint.green("Created")} ${shown} from the template ${options.template}.\n`);
    for (const file of [...changed, ...named(sdkWritten, "created", "replaced")]) shell.note(paint.dim(`  ${file}\n`));
  }
  const steps = [...(shown === "." ? [] : [`cd ${quoteWord(shown)}`]), ...template.nextSteps];
  shell.note(`\nNext:\n${steps.map((step) => `  ${paint.cyan(step)}\n`).join("")}`);
}

function named(outcome: Outcome, ...kinds: readonly Written[]): readonly string[] {
  return [...outcome].filter(([, what]) => kinds.includes(what)).map(([file]) => file);
}
