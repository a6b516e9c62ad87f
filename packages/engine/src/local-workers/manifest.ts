import { readdir, readFile, stat } from "node:fs/promises";
import { basename, extname, isAbsolute, join, normalize, resolve, sep } from "node:path";
import { ManifestError } from "./manifest-error.ts";
import { exampleFor } from "./manifest-example.ts";
import { expectationAt, manifestShape, referenceManifestShape } from "./manifest-schema.ts";
import { PositionedYaml } from "./manifest-yaml.ts";
import { workerNameProblem } from "./worker-name.ts";

export const MANIFEST_FILE = "svc.worker.yaml";
/** Compatibility (decision 29): the reference system's name of the same file, read when there is no `svc.worker.yaml`. */
export const REFERENCE_MANIFEST_FILE = "iii.worker.yaml";

const MAX_MANIFEST_BYTES = 256 * 1024;
/** The engine decides these; a manifest that set them would cut its worker off. */
const RESERVED_ENV = new Set(["SVC_URL", "SVC_TOKEN", "SVC_WORKER_NAME", "III_URL", "III_ENGINE_URL"]);

export type RuntimeKind = "python" | "typescript" | "javascript";

/** A worker's manifest, checked, with what it left out filled in. */
export interface WorkerManifest {
  readonly name: string;
  readonly description: string | undefined;
  readonly kind: RuntimeKind;
  readonly packageManager: "pip" | "npm";
  /** Relative to the folder; undefined when `scripts.start` says what runs. */
  readonly entry: string | undefined;
  /** Shell command that installs the dependencies; undefined when there are none. */
  readonly install: string | undefined;
  /** Shell command that starts the worker. */
  readonly start: string;
  readonly env: Readonly<Record<string, string>>;
  /** False switches file watching off. */
  readonly watch: false | { readonly ignore: readonly string[] };
  /** Absolute path of the worker's folder. */
  readonly folder: string;
  /** Absolute path of the manifest. */
  readonly file: string;
  /** What was understood but has no effect here. */
  readonly warnings: readonly string[];
}

/** Reads the manifest of a worker's folder. Throws ManifestError for everything that keeps it from running. */
export async function readManifest(folder: string): Promise<WorkerManifest> {
  const absolute = resolve(folder);
  const files = await filesOf(absolute);
  if (files.includes(MANIFEST_FILE)) return parseManifest({ folder: absolute, files, ...(await readText(join(absolute, MANIFEST_FILE))) });
  if (files.includes(REFERENCE_MANIFEST_FILE))
    return parseReferenceManifest({ folder: absolute, files, ...(await readText(join(absolute, REFERENCE_MANIFEST_FILE))) });
  throw new ManifestError(join(absolute, MANIFEST_FILE), [
    { line: undefined, key: undefined, message: `the file is missing; a worker's folder needs one. ${await exampleFor(absolute, files)}` },
  ]);
}

async function filesOf(folder: string): Promise<readonly string[]> {
  const problem = (message: string): ManifestError => new ManifestError(folder, [{ line: undefined, key: undefined, message }]);
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
    const { size } = await stat(file);
    if (size > MAX_MANIFEST_BYTES) throw new Error(`it has ${size} bytes; at most ${MAX_MANIFEST_BYTES} are read`);
    return { file, text: await readFile(file, "utf8") };
  } catch (error) {
    throw new ManifestError(file, [{ line: undefined, key: undefined, message: `the file cannot be read: ${(error as Error).message}` }]);
  }
}

interface Source {
  readonly folder: string;
  /** Names in the folder. */
  readonly files: readonly string[];
  readonly file: string;
  readonly text: string;
}

function parseManifest(source: Source): Promise<WorkerManifest> {
  const yaml = new PositionedYaml(source);
  const parsed = yaml.parse(manifestShape);
  for (const name of Object.keys(parsed.env ?? {})) {
    if (RESERVED_ENV.has(name)) yaml.fail(["env", name], "the engine sets this variable; remove it here");
  }
  const watch = parsed.watch === false ? false : { ignore: typeof parsed.watch === "object" ? (parsed.watch.ignore ?? []) : [] };
  return complete(source, yaml, { ...parsed, description: parsed.description, kind: parsed.runtime.kind, kindKey: "kind", watch, warnings: [] });
}

/** Compatibility (decision 29). There a missing kind means TypeScript and a missing name the folder's. */
function parseReferenceManifest(source: Source): Promise<WorkerManifest> {
  const yaml = new PositionedYaml(source);
  const parsed = yaml.parse(referenceManifestShape);
  const ignored = [
    ...(["resources", "config", "dependencies"] as const).filter((key) => parsed[key] !== undefined),
    ...(parsed.runtime?.base_image === undefined ? [] : ["runtime.base_image"]),
    ...(parsed.scripts?.setup === undefined ? [] : ["scripts.setup"]),
  ];
  const env = Object.fromEntries(Object.entries(parsed.env ?? {}).filter(([name]) => !RESERVED_ENV.has(name)));
  return complete(source, yaml, {
    name: parsed.name ?? basename(source.folder),
    description: parsed.description,
    runtime: parsed.runtime ?? {},
    kind: parsed.runtime?.kind ?? parsed.runtime?.language ?? "typescript",
    kindKey: parsed.runtime?.kind === undefined ? "language" : "kind",
    scripts: parsed.scripts,
    env,
    watch: { ignore: [] },
    warnings: ignored.map((key) => `${source.file}: ${key} has no meaning for a worker that runs as a plain process and is ignored`),
  });
}

interface Understood {
  readonly name: string;
  readonly description: string | undefined;
  readonly runtime: { readonly package_manager?: "pip" | "npm" | undefined; readonly entry?: string | undefined };
  readonly kind: "python" | "typescript" | "javascript" | "node";
  readonly kindKey: "kind" | "language";
  readonly scripts?: { readonly install?: string | undefined; readonly start?: string | undefined } | undefined;
  readonly env?: Readonly<Record<string, string | number | boolean>> | undefined;
  readonly watch: WorkerManifest["watch"];
  readonly warnings: readonly string[];
}

async function complete(source: Source, yaml: PositionedYaml, understood: Understood): Promise<WorkerManifest> {
  const nameProblem = workerNameProblem(understood.name);
  if (nameProblem !== undefined) yaml.fail(["name"], `\`${understood.name}\` ${nameProblem}`);
  const kind: RuntimeKind = understood.kind === "node" ? "javascript" : understood.kind;
  const packageManager = kind === "python" ? "pip" : "npm";
  if ((understood.runtime.package_manager ?? packageManager) !== packageManager) {
    yaml.fail(
      ["runtime", "package_manager"],
      `\`${understood.runtime.package_manager}\` does not fit \`${understood.kindKey}: ${understood.kind}\`; expected \`${packageManager}\``,
    );
  }
  return {
    name: understood.name,
    description: understood.description,
    kind,
    packageManager,
    entry: understood.runtime.entry,
    install: understood.scripts?.install ?? inferredInstall(kind, source.files),
    start: understood.scripts?.start ?? (await inferredStart(source, yaml, { kind, entry: understood.runtime.entry })),
    env: checkedEnv(yaml, understood.env ?? {}),
    watch: understood.watch,
    folder: source.folder,
    file: source.file,
    warnings: understood.warnings,
  };
}

function checkedEnv(yaml: PositionedYaml, env: Readonly<Record<string, string | number | boolean>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      yaml.fail(["env", name], "this is not a variable name; expected letters, digits and `_`, not starting with a digit");
    if (String(value).includes("\0")) yaml.fail(["env", name], "the value holds a NUL character, which no variable can");
  }
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)]));
}

function inferredInstall(kind: RuntimeKind, files: readonly string[]): string | undefined {
  if (kind === "python") {
    if (files.includes("requirements.txt")) return "pip install -r requirements.txt";
    return files.includes("pyproject.toml") || files.includes("setup.py") ? "pip install -e ." : undefined;
  }
  if (!files.includes("package.json")) return undefined;
  return files.includes("package-lock.json") || files.includes("npm-shrinkwrap.json") ? "npm ci" : "npm install";
}

async function inferredStart(
  source: Source,
  yaml: PositionedYaml,
  runtime: { readonly kind: RuntimeKind; readonly entry: string | undefined },
): Promise<string> {
  const { kind, entry } = runtime;
  if (entry === undefined)
    return yaml.fail(["runtime", "entry"], `this key is missing; expected ${expectationAt(["runtime", "entry"])}, or a start command in \`scripts.start\``);
  // The reference also takes a Python module's name here.
  if (kind === "python" && extname(entry) === "" && source.file.endsWith(REFERENCE_MANIFEST_FILE)) return `python -m ${quoted(entry)}`;
  const path = normalize(entry);
  if (isAbsolute(entry) || path === ".." || path.startsWith(`..${sep}`))
    yaml.fail(["runtime", "entry"], `\`${entry}\` lies outside the worker's folder; expected ${expectationAt(["runtime", "entry"])}`);
  const found = await stat(join(source.folder, entry)).catch(() => undefined);
  if (found?.isFile() !== true)
    yaml.fail(["runtime", "entry"], `there is no file \`${entry}\` in ${source.folder}; expected ${expectationAt(["runtime", "entry"])}`);
  if (kind === "python") return `python ${quoted(entry)}`;
  return /\.[mc]?tsx?$/.test(entry) ? `npx tsx ${quoted(entry)}` : `node ${quoted(entry)}`;
}

/** One word of a shell command. */
function quoted(word: string): string {
  return /^[A-Za-z0-9_./][A-Za-z0-9_./-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
