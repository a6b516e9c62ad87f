import { readdir } from "node:fs/promises";
import { basename, extname, join, resolve } from "node:path";
import { quoteWord } from "@svc-runtime/protocol";
import type { z } from "zod";
import { FileError, type FileProblem, inFileOrder, problemOfFile } from "../yaml/problem.ts";
import { problemAt, schemaProblems } from "../yaml/schema-problems.ts";
import { type KeyPath, readYaml, type YamlSource } from "../yaml/source.ts";
import { readBoundedFile } from "./bounded-file.ts";
import { RESERVED_VARIABLES } from "./environment.ts";
import { entryProblem, inferredInstall, inferredPackageManager, inferredStart } from "./inferred-commands.ts";
import { exampleFor } from "./manifest-example.ts";
import { ENTRY, listed, manifestShape, referenceManifestShape, START_COMMAND } from "./manifest-schema.ts";
import { kindRules, type PackageManager, type RuntimeKind } from "./runtime-kinds.ts";
import { workerNameProblem } from "./worker-name.ts";

export const MANIFEST_FILE = "svc.worker.yaml";
/** Compatibility: the reference system's name of this file. It is read if there is no `svc.worker.yaml`. */
export const REFERENCE_MANIFEST_FILE = "iii.worker.yaml";

const MAX_MANIFEST_BYTES = 256 * 1024;

/** Thrown when a folder cannot be run as a worker. */
export class ManifestError extends FileError {
  override readonly name = "ManifestError";
}

/** A validated manifest of a worker, with defaults filled in. */
export interface WorkerManifest {
  readonly name: string;
  readonly description: string | undefined;
  readonly kind: RuntimeKind;
  /** Undefined for the kind `other`. */
  readonly packageManager: PackageManager | undefined;
  /** File to run, relative to the folder. Undefined if `scripts.start` defines the start command instead. */
  readonly entry: string | undefined;
  /** Shell command that installs the dependencies. Undefined if there is nothing to install. */
  readonly install: string | undefined;
  /** Shell command that starts the worker. */
  readonly start: string;
  readonly env: Readonly<Record<string, string>>;
  /** False disables file watching. */
  readonly watch: false | { readonly ignore: readonly string[] };
  /** Absolute path of the worker's folder. */
  readonly folder: string;
  /** Absolute path of the manifest. */
  readonly file: string;
  /** Warnings about keys without effect. */
  readonly warnings: readonly string[];
}

/** Reads the manifest of a worker's folder. Throws ManifestError if the worker cannot run. */
export async function readManifest(folder: string): Promise<WorkerManifest> {
  const absolute = resolve(folder);
  const files = await filesOf(absolute);
  if (files.includes(MANIFEST_FILE))
    return parseManifest({ folder: absolute, files, ...(await readText(join(absolute, MANIFEST_FILE))) });
  if (files.includes(REFERENCE_MANIFEST_FILE))
    return parseReferenceManifest({
      folder: absolute,
      files,
      ...(await readText(join(absolute, REFERENCE_MANIFEST_FILE))),
    });
  throw new ManifestError(join(absolute, MANIFEST_FILE), [
    problemOfFile(`the file is missing; a worker's folder needs one. ${await exampleFor(absolute, files)}`),
  ]);
}

async function filesOf(folder: string): Promise<readonly string[]> {
  const problem = (message: string): ManifestError => new ManifestError(folder, [problemOfFile(message)]);
  try {
    return await readdir(folder);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT") throw problem("there is no such folder; expected the folder of a worker");
    if (code === "ENOTDIR") throw problem("this is a file; expected the folder of a worker");
    throw problem(`the folder cannot be read: ${(error as Error).message}`);
  }
}

async function readText(file: string): Promise<{ readonly file: string; readonly text: string }> {
  try {
    return { file, text: await readBoundedFile(file, MAX_MANIFEST_BYTES) };
  } catch (error) {
    throw new ManifestError(file, [problemOfFile(`the file cannot be read: ${(error as Error).message}`)]);
  }
}

interface Source {
  readonly folder: string;
  /** Names of the files in the folder. */
  readonly files: readonly string[];
  readonly file: string;
  readonly text: string;
}

/** Keys that have another name in `svc.worker.yaml`, by their other name. */
const SYNONYMS = { language: "kind" };

/** A manifest's YAML. Variables (`${NAME}`) stay unchanged: the shell expands them in commands. */
class ManifestYaml {
  readonly #file: string;
  readonly #yaml: YamlSource;
  readonly #problems: readonly FileProblem[];

  /** Throws ManifestError if the text cannot be read as YAML. */
  constructor({ file, text }: Source) {
    const { source, problems } = readYaml(text);
    if (source === undefined) throw new ManifestError(file, problems);
    this.#file = file;
    this.#yaml = source;
    this.#problems = problems;
  }

  /** Throws ManifestError with all problems of the file. */
  parse<Output>(schema: z.ZodType<Output>): Output {
    const value = this.#yaml.value ?? null;
    const parsed = schema.safeParse(value);
    if (parsed.success && this.#problems.length === 0) return parsed.data;
    const ofSchema = schemaProblems(parsed.error?.issues ?? [], {
      schema,
      value,
      base: [],
      yaml: this.#yaml,
      synonyms: SYNONYMS,
    });
    throw new ManifestError(this.#file, inFileOrder([...this.#problems, ...ofSchema]));
  }

  fail(path: KeyPath, message: string): never {
    throw new ManifestError(this.#file, [problemAt(path, this.#yaml, message)]);
  }
}

function parseManifest(source: Source): Promise<WorkerManifest> {
  const yaml = new ManifestYaml(source);
  const parsed = yaml.parse(manifestShape);
  for (const name of Object.keys(parsed.env ?? {})) {
    if (RESERVED_VARIABLES.has(name)) yaml.fail(["env", name], "the engine sets this variable; remove it here");
  }
  const watch =
    parsed.watch === false ? false : { ignore: typeof parsed.watch === "object" ? (parsed.watch.ignore ?? []) : [] };
  return complete(source, yaml, {
    ...parsed,
    description: parsed.description,
    kind: parsed.runtime.kind,
    kindKey: "kind",
    watch,
    warnings: [],
  });
}

/**
 * Compatibility: reads the reference system's manifest. Its default kind is TypeScript, and its default name is the
 * name of the folder.
 */
function parseReferenceManifest(source: Source): Promise<WorkerManifest> {
  const yaml = new ManifestYaml(source);
  const parsed = yaml.parse(referenceManifestShape);
  const ignored = [
    ...(["resources", "config", "dependencies"] as const).filter((key) => parsed[key] !== undefined),
    ...(parsed.runtime?.base_image === undefined ? [] : ["runtime.base_image"]),
    ...(parsed.scripts?.setup === undefined ? [] : ["scripts.setup"]),
  ];
  const env = Object.fromEntries(Object.entries(parsed.env ?? {}).filter(([name]) => !RESERVED_VARIABLES.has(name)));
  return complete(source, yaml, {
    name: parsed.name ?? basename(source.folder),
    description: parsed.description,
    runtime: parsed.runtime ?? {},
    kind: parsed.runtime?.kind ?? parsed.runtime?.language ?? "typescript",
    kindKey: parsed.runtime?.kind === undefined ? "language" : "kind",
    scripts: parsed.scripts,
    env,
    watch: { ignore: [] },
    warnings: ignored.map(
      (key) => `${source.file}: ${key} has no meaning for a worker that runs as a plain process and is ignored`,
    ),
  });
}

interface ManifestValues {
  readonly name: string;
  readonly description: string | undefined;
  readonly runtime: { readonly package_manager?: PackageManager | undefined; readonly entry?: string | undefined };
  readonly kind: RuntimeKind | "node";
  readonly kindKey: "kind" | "language";
  readonly scripts?: { readonly install?: string | undefined; readonly start?: string | undefined } | undefined;
  readonly env?: Readonly<Record<string, string | number | boolean>> | undefined;
  readonly watch: WorkerManifest["watch"];
  readonly warnings: readonly string[];
}

async function complete(source: Source, yaml: ManifestYaml, values: ManifestValues): Promise<WorkerManifest> {
  const nameProblem = workerNameProblem(values.name);
  if (nameProblem !== undefined) yaml.fail(["name"], `\`${values.name}\` ${nameProblem}`);
  const kind: RuntimeKind = values.kind === "node" ? "javascript" : values.kind;
  const { entry, package_manager: named } = values.runtime;
  const usable = kindRules[kind].packageManagers;
  if (named !== undefined && !usable.includes(named)) {
    const expected =
      usable.length === 0
        ? "no package manager, but `scripts`"
        : `${usable.length === 1 ? "" : "one of "}${listed(usable)}`;
    yaml.fail(
      ["runtime", "package_manager"],
      `\`${named}\` does not fit \`${values.kindKey}: ${values.kind}\`; expected ${expected}`,
    );
  }
  const packageManager = named ?? (await inferredPackageManager(kind, source));
  return {
    name: values.name,
    description: values.description,
    kind,
    packageManager,
    entry,
    install: values.scripts?.install ?? (await inferredInstall(packageManager, source, entry)),
    start: values.scripts?.start ?? (await checkedStart(source, yaml, { kind, packageManager, entry })),
    env: checkedEnv(yaml, values.env ?? {}),
    watch: values.watch,
    folder: source.folder,
    file: source.file,
    warnings: values.warnings,
  };
}

function checkedEnv(
  yaml: ManifestYaml,
  env: Readonly<Record<string, string | number | boolean>>,
): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      yaml.fail(
        ["env", name],
        "this is not a variable name; expected letters, digits and `_`, not starting with a digit",
      );
    if (String(value).includes("\0"))
      yaml.fail(["env", name], "the value contains a NUL character, which is not allowed in a variable");
  }
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)]));
}

async function checkedStart(
  { folder, file }: Source,
  yaml: ManifestYaml,
  { kind, packageManager, entry }: Pick<WorkerManifest, "kind" | "packageManager" | "entry">,
): Promise<string> {
  if (kind === "other")
    return yaml.fail(["scripts", "start"], `is missing; it must be ${START_COMMAND}, for \`kind: other\``);
  // The reference system also accepts the name of a Python module as the entry.
  if (kind === "python" && entry !== undefined && extname(entry) === "" && file.endsWith(REFERENCE_MANIFEST_FILE))
    return `python -m ${quoteWord(entry)}`;
  const expected = `expected ${ENTRY}`;
  const path: KeyPath = ["runtime", "entry"];
  switch (await entryProblem(kind, folder, entry)) {
    case undefined:
      return inferredStart(kind, packageManager, entry);
    case "missing":
      return yaml.fail(path, `is missing; it must be ${ENTRY}, or give a start command in \`scripts.start\``);
    case "outside":
      return yaml.fail(path, `\`${entry}\` is outside the worker's folder; ${expected}`);
    case "not there":
      return yaml.fail(path, `there is no file \`${entry}\` in ${folder}; ${expected}`);
    case "not a binary":
      return yaml.fail(
        path,
        `Cargo builds no program from \`${entry}\`; expected \`src/main.rs\` or \`src/bin/NAME.rs\`, or a start command in \`scripts.start\``,
      );
  }
}
