import { stat } from "node:fs/promises";
import { dirname, extname, isAbsolute, join, normalize, sep } from "node:path";
import { quoteWord } from "@svc-runtime/protocol";
import { MAX_LOCK_FILE_BYTES, MAX_PACKAGE_FILE_BYTES, readBoundedFile } from "./bounded-file.ts";
import { kindRules, lockFiles, type PackageManager, type RuntimeKind } from "./runtime-kinds.ts";

export interface WorkerFolder {
  /** Absolute path. */
  readonly folder: string;
  /** Names of the files in the folder. */
  readonly files: readonly string[];
}

/**
 * Returns the package manager that fits a folder's files, among those that the kind supports. If none fits, returns the
 * kind's default.
 */
export async function inferredPackageManager(
  kind: RuntimeKind,
  source: WorkerFolder,
): Promise<PackageManager | undefined> {
  const usable = kindRules[kind].packageManagers;
  if (usable.length < 2) return usable[0];
  const facts = source.files.includes("package.json") ? await packageFacts(source.folder) : undefined;
  const named = usable.find((manager) => facts?.packageManager === manager);
  if (named !== undefined) return named;
  const locked = usable.find((manager) => lockFiles[manager].some((file) => source.files.includes(file)));
  if (locked !== undefined) return locked;
  // Deno's installer does not support dependencies on local files.
  if (kind === "deno" && facts?.hasLocalFiles === true) return "npm";
  return usable[0];
}

interface PackageFacts {
  /** The name in `packageManager`, e.g. `pnpm` for `pnpm@10.1.0`. */
  readonly packageManager: string | undefined;
  readonly hasLocalFiles: boolean;
}

async function packageFacts(folder: string): Promise<PackageFacts | undefined> {
  try {
    const parsed = JSON.parse(await readBoundedFile(join(folder, "package.json"), MAX_PACKAGE_FILE_BYTES)) as {
      packageManager?: unknown;
      dependencies?: unknown;
    } | null;
    const manager = parsed?.packageManager;
    const dependencies = parsed?.dependencies;
    return {
      packageManager: typeof manager === "string" ? manager.split("@")[0] : undefined,
      hasLocalFiles:
        typeof dependencies === "object" &&
        Object.values(dependencies ?? {}).some((spec) => typeof spec === "string" && spec.startsWith("file:")),
    };
  } catch {
    // Ignored: the install reports the problem of the file.
    return undefined;
  }
}

/** Returns the command that installs the dependencies or builds the worker. Undefined if there is nothing to do. */
export async function inferredInstall(
  manager: PackageManager | undefined,
  source: WorkerFolder,
  entry: string | undefined,
): Promise<string | undefined> {
  if (manager === undefined) return undefined;
  const has = (...names: readonly string[]): boolean => names.some((name) => source.files.includes(name));
  return installs[manager]({ folder: source.folder, has, isLocked: has(...lockFiles[manager]), entry });
}

interface InstallFacts {
  readonly folder: string;
  readonly has: (...names: readonly string[]) => boolean;
  /** True if there is a lock file. The install then installs exactly its versions. */
  readonly isLocked: boolean;
  readonly entry: string | undefined;
}

const installs: Readonly<Record<PackageManager, (facts: InstallFacts) => string | undefined | Promise<string>>> = {
  pip: ({ has }) => {
    if (has("requirements.txt")) return "pip install -r requirements.txt";
    return has("pyproject.toml", "setup.py") ? "pip install -e ." : undefined;
  },
  uv: ({ has, isLocked }) => {
    if (has("pyproject.toml")) return isLocked ? "uv sync --locked" : "uv sync";
    return `uv venv --allow-existing .venv${has("requirements.txt") ? " && uv pip install -r requirements.txt" : ""}`;
  },
  poetry: () => "poetry install --no-interaction",
  npm: ({ has, isLocked }) => (has("package.json") ? (isLocked ? "npm ci" : "npm install") : undefined),
  pnpm: ({ has, isLocked }) =>
    has("package.json") ? `pnpm install${isLocked ? " --frozen-lockfile" : ""}` : undefined,
  yarn: ({ has, isLocked, folder }) => (has("package.json") ? yarnInstall(folder, isLocked) : undefined),
  bun: ({ has, isLocked }) => (has("package.json") ? `bun install${isLocked ? " --frozen-lockfile" : ""}` : undefined),
  deno: ({ has, isLocked }) =>
    has("package.json", "deno.json", "deno.jsonc") ? `deno install${isLocked ? " --frozen" : ""}` : undefined,
  go: async ({ folder, entry }) => `go build -o ${GO_PROGRAM} ${quoteWord(await goPackage(folder, entry))}`,
  cargo: ({ entry }) => ["cargo build --release", ...cargoBinary(entry)].join(" "),
};

const GO_PROGRAM = ".svc/worker";

/**
 * Returns Yarn's install command. The option has different names in Yarn 1 and later versions. The content of the lock
 * file shows which version wrote it.
 */
async function yarnInstall(folder: string, isLocked: boolean): Promise<string> {
  if (!isLocked) return "yarn install";
  const lock = await readBoundedFile(join(folder, "yarn.lock"), MAX_LOCK_FILE_BYTES).catch(() => "");
  // An empty lock file does not pin versions. It only marks the folder as a project of its own.
  if (lock.trim() === "") return "yarn install";
  return `yarn install ${lock.includes("__metadata:") ? "--immutable" : "--frozen-lockfile"}`;
}

async function goPackage(folder: string, entry: string | undefined): Promise<string> {
  if (entry === undefined) return ".";
  const isFile = await stat(join(folder, entry)).then(
    (found) => found.isFile(),
    () => false,
  );
  const path = normalize(isFile ? dirname(entry) : entry);
  return path === "." ? "." : `./${path}`;
}

function cargoBinary(entry: string | undefined): readonly string[] {
  const name = entry === undefined ? undefined : /^src\/bin\/([^/]+)\.rs$/.exec(normalize(entry))?.[1];
  return name === undefined ? [] : ["--bin", quoteWord(name)];
}

export type EntryProblem = "missing" | "outside" | "not there" | "not a binary";

/** Returns the reason why the entry cannot be run, or undefined if it can. */
export async function entryProblem(
  kind: RuntimeKind,
  folder: string,
  entry: string | undefined,
): Promise<EntryProblem | undefined> {
  if (entry === undefined) return kindRules[kind].isCompiled ? undefined : "missing";
  if (kind === "other") return undefined;
  const path = normalize(entry);
  if (isAbsolute(entry) || path === ".." || path.startsWith(`..${sep}`)) return "outside";
  const found = await stat(join(folder, entry)).catch(() => undefined);
  if (found === undefined || !(found.isFile() || (kind === "go" && found.isDirectory()))) return "not there";
  if (kind === "rust" && path !== join("src", "main.rs") && cargoBinary(entry).length === 0) return "not a binary";
  return undefined;
}

/** Returns the command that starts the worker. `entry` must be valid. */
export function inferredStart(
  kind: Exclude<RuntimeKind, "other">,
  manager: PackageManager | undefined,
  entry: string | undefined,
): string {
  const file = quoteWord(entry ?? "");
  switch (kind) {
    case "python":
      return `python ${file}`;
    case "typescript":
    case "javascript":
      return nodeStart(manager, entry ?? "");
    case "bun":
      return `bun run ${file}`;
    case "deno":
      return `deno run --allow-all ${file}`;
    case "go":
      return GO_PROGRAM;
    case "rust":
      // `cargo run` replaces its own process with the program, so no additional process remains.
      return ["cargo run --release --quiet", ...cargoBinary(entry)].join(" ");
  }
}

function nodeStart(manager: PackageManager | undefined, entry: string): string {
  const isTypeScript = /^\.[mc]?tsx?$/.test(extname(entry));
  const file = quoteWord(entry);
  // With Yarn, only programs that Yarn starts are guaranteed to find the packages.
  if (manager === "yarn") return isTypeScript ? `yarn run tsx ${file}` : `yarn node ${file}`;
  return `${isTypeScript ? NODE_WITH_TSX : "node"} ${file}`;
}

/**
 * Starts a single process. `npx tsx` would start three: they use twice the memory, and forward a signal to the worker
 * that the worker has already received.
 */
const NODE_WITH_TSX = "node --import tsx";

/**
 * Returns an error message if the start command needs the package tsx, and it is neither installed in the worker's
 * folder nor in a folder above it. Returns undefined otherwise.
 */
export async function missingTsx({
  start,
  folder,
  packageManager,
}: {
  readonly start: string;
  /** Absolute path. */
  readonly folder: string;
  readonly packageManager: PackageManager | undefined;
}): Promise<string | undefined> {
  if (!start.startsWith(`${NODE_WITH_TSX} `)) return undefined;
  for (let at = folder; ; at = dirname(at)) {
    const file = join(at, "node_modules", "tsx", "package.json");
    if ((await stat(file).catch(() => undefined)) !== undefined) return undefined;
    if (at === dirname(at)) break;
  }
  const install = packageManager === "pnpm" ? "pnpm add tsx" : "npm install tsx";
  return `\`${start}\` needs the package tsx, which is not installed in ${folder}; run \`${install}\` there, or write another start command as \`scripts.start\` in the manifest`;
}
