import { stringify } from "yaml";
import type { PackageManager, RuntimeKind } from "./runtime-kinds.ts";
import { workerNameProblem } from "./worker-name.ts";

/** Facts about a folder without a manifest. */
export interface ProjectFacts {
  /** Name of the folder. */
  readonly name: string;
  /** Relative paths of files, with `/` as separator. Files below `src` and `cmd` are included. */
  readonly files: readonly string[];
  /** `main` and `scripts.start` of its package.json. */
  readonly main: string | undefined;
  readonly hasStartScript: boolean;
  readonly packageManagerOf: (kind: RuntimeKind) => PackageManager | undefined;
}

export type Detection =
  | { readonly found: "manifest"; readonly kind: RuntimeKind; readonly evidence: string; readonly text: string }
  /** The folder contains a project, but the user must choose the file or the kind. */
  | { readonly found: "unclear"; readonly problem: string }
  | { readonly found: "nothing" };

type Program = { readonly entry?: string; readonly start?: string } | { readonly problem: string };

/**
 * Files that identify a project, the most reliable first. Kinds of the same family differ only in their runtime, so
 * files of several such kinds do not contradict each other.
 */
const SIGNS: readonly { readonly family: string; readonly kind: RuntimeKind; readonly files: readonly string[] }[] = [
  { family: "rust", kind: "rust", files: ["Cargo.toml"] },
  { family: "go", kind: "go", files: ["go.mod"] },
  { family: "javascript", kind: "deno", files: ["deno.json", "deno.jsonc", "deno.lock"] },
  { family: "javascript", kind: "bun", files: ["bun.lock", "bun.lockb", "bunfig.toml"] },
  { family: "javascript", kind: "typescript", files: ["package.json"] },
  {
    family: "python",
    kind: "python",
    files: ["pyproject.toml", "uv.lock", "poetry.lock", "requirements.txt", "setup.py"],
  },
];

const SCRIPT = /\.[mc]?[jt]s$/;
const DECLARATIONS_AND_TOOLS = /\.d\.[mc]?ts$|(?:^|\/)[\w.-]+\.config\.[mc]?[jt]s$|\.(?:test|spec)\.[mc]?[jt]s$/;
const SCRIPT_NAMES = ["src/worker", "worker", "src/main", "main", "src/index", "index", "mod"];
const PYTHON_NAMES = ["worker.py", "main.py", "app.py", "src/worker.py", "src/main.py", "src/app.py", "__main__.py"];

/** Returns the manifest that fits a folder's files. */
export function detect(facts: ProjectFacts): Detection {
  const signs = SIGNS.flatMap((sign) =>
    sign.files.filter((file) => facts.files.includes(file)).map((evidence) => ({ ...sign, evidence })),
  );
  const [sign] = signs;
  if (sign === undefined) return { found: "nothing" };
  const other = signs.find(({ family }) => family !== sign.family);
  if (other !== undefined)
    return {
      found: "unclear",
      problem: `it has ${sign.evidence} and ${other.evidence}, so it may be a ${sign.kind} or a ${other.kind} worker`,
    };
  const program = programs[sign.kind](facts, sign.kind);
  if ("problem" in program) return { found: "unclear", problem: `it has ${sign.evidence}, but ${program.problem}` };
  const kind =
    sign.kind === "typescript" && program.entry !== undefined && /\.[mc]?js$/.test(program.entry)
      ? "javascript"
      : sign.kind;
  return {
    found: "manifest",
    kind,
    evidence: sign.evidence,
    text: manifestText(facts, { kind, evidence: sign.evidence, program }),
  };
}

const programs: Readonly<Record<RuntimeKind, (facts: ProjectFacts, kind: RuntimeKind) => Program>> = {
  python: pythonProgram,
  typescript: scriptProgram,
  javascript: scriptProgram,
  bun: scriptProgram,
  deno: scriptProgram,
  go: ({ files }) =>
    files.some((file) => /^[^/]+\.go$/.test(file))
      ? {}
      : only(
          files.filter((file) => /^cmd\/[^/]+\/main\.go$/.test(file)),
          "program",
        ),
  rust: ({ files }) =>
    files.includes("src/main.rs")
      ? {}
      : only(
          files.filter((file) => /^src\/bin\/[^/]+\.rs$/.test(file)),
          "program",
        ),
  other: () => ({ problem: "this kind is not detected" }),
};

function pythonProgram({ files }: ProjectFacts): Program {
  const usual = PYTHON_NAMES.find((name) => files.includes(name));
  if (usual !== undefined) return { entry: usual };
  const scripts = files.filter(
    (file) =>
      /^(?:src\/)?[^/]+\.py$/.test(file) &&
      !/(?:^|\/)(?:setup|conftest|__init__|test_[^/]*|[^/]*_test)\.py$/.test(file),
  );
  const workers = scripts.filter((file) => file.endsWith("_worker.py"));
  return only(workers.length === 1 ? workers : scripts, "script");
}

function scriptProgram({ files, main, hasStartScript, packageManagerOf }: ProjectFacts, kind: RuntimeKind): Program {
  const named = main?.replace(/^\.\//, "");
  if (named !== undefined && SCRIPT.test(named) && files.includes(named)) return { entry: named };
  if (hasStartScript && kind !== "deno") {
    const manager = packageManagerOf(kind) ?? "npm";
    return { start: manager === "bun" ? "bun run start" : `${manager} start` };
  }
  const scripts = files.filter((file) => SCRIPT.test(file) && !DECLARATIONS_AND_TOOLS.test(file));
  const usual = SCRIPT_NAMES.flatMap((name) => scripts.filter((file) => file.replace(SCRIPT, "") === name));
  return usual[0] === undefined ? only(scripts, "script") : { entry: usual[0] };
}

const MAX_SHOWN = 8;

function only(candidates: readonly string[], what: string): Program {
  const [first] = candidates;
  if (first === undefined) return { problem: `no ${what} to start was found in it` };
  if (candidates.length === 1) return { entry: first };
  const more = candidates.length > MAX_SHOWN ? ` and ${candidates.length - MAX_SHOWN} more` : "";
  return { problem: `it is not clear which ${what} to start: ${candidates.slice(0, MAX_SHOWN).join(", ")}${more}` };
}

function manifestText(
  facts: ProjectFacts,
  {
    kind,
    evidence,
    program,
  }: {
    readonly kind: RuntimeKind;
    readonly evidence: string;
    readonly program: Exclude<Program, { readonly problem: string }>;
  },
): string {
  const manager = facts.packageManagerOf(kind);
  const compiled = kind === "go" || kind === "rust";
  const manifest = {
    name: nameFor(facts.name),
    runtime: {
      kind,
      ...(manager === undefined || compiled ? {} : { package_manager: manager }),
      ...(program.entry === undefined ? {} : { entry: program.entry }),
    },
    ...(program.start === undefined ? {} : { scripts: { start: program.start } }),
  };
  return `# How the engine installs and starts this worker. Written by svc, which found ${evidence} here.\n${stringify(manifest)}`;
}

/** Returns the folder's name, with characters that are invalid in a worker's name replaced. */
function nameFor(folder: string): string {
  const name = folder
    .replaceAll(/[^A-Za-z0-9._-]+/g, "-")
    .replaceAll(/\.{2,}/g, ".")
    .replace(/^[.-]+/, "");
  return workerNameProblem(name) === undefined ? name : "my-worker";
}
