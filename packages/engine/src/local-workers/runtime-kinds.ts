/** Runtimes of workers. */
export const runtimeKinds = ["python", "typescript", "javascript", "bun", "deno", "go", "rust", "other"] as const;
export type RuntimeKind = (typeof runtimeKinds)[number];

/** Tools that install dependencies or build a worker. */
export const packageManagers = ["pip", "uv", "poetry", "npm", "pnpm", "yarn", "bun", "deno", "go", "cargo"] as const;
export type PackageManager = (typeof packageManagers)[number];

/** A program that must be installed. */
export interface Tool {
  readonly program: string;
  /** Arguments with which the program prints its version and exits. */
  readonly version: readonly string[];
  /** Text that tells the user how to install the program. */
  readonly install: string;
}

const NODE: Tool = { program: "node", version: ["--version"], install: "install Node 20 or newer" };
const PYTHON: Tool = {
  program: "python3",
  version: [
    "-c",
    "import sys, platform; print(sys.implementation.name, platform.python_version(), platform.machine())",
  ],
  install: "install Python 3.10 or newer",
};
const BUN: Tool = {
  program: "bun",
  version: ["--version"],
  install: "install it with `npm install --global bun`, or as https://bun.sh says",
};
const DENO: Tool = {
  program: "deno",
  version: ["--version"],
  install: "install it with `npm install --global deno`, or as https://deno.com says",
};
const GO: Tool = {
  program: "go",
  version: ["version"],
  install: "install it as https://go.dev/doc/install says; on Debian and Ubuntu: sudo apt install golang-go",
};
const CARGO: Tool = {
  program: "cargo",
  version: ["--version"],
  install: "install it as https://rustup.rs says; on Debian and Ubuntu: sudo apt install cargo",
};

interface KindRule {
  /** Undefined for the kind `other`. */
  readonly runtime: Tool | undefined;
  /** Supported package managers. The first one is the default. */
  readonly packageManagers: readonly PackageManager[];
  /**
   * File or folder that an install creates and the worker needs to start. The path is relative to the worker's folder.
   */
  readonly environment: string | undefined;
  /** Folder of the worker's installed programs, relative to the worker's folder. */
  readonly programs: string | undefined;
  /** True if the install compiles the sources. The install then runs again when a source file changes. */
  readonly isCompiled: boolean;
}

const NODE_MODULES = { environment: "node_modules", programs: "node_modules/.bin", isCompiled: false } as const;

export const kindRules: Readonly<Record<RuntimeKind, KindRule>> = {
  python: {
    runtime: PYTHON,
    packageManagers: ["pip", "uv", "poetry"],
    environment: ".venv",
    programs: ".venv/bin",
    isCompiled: false,
  },
  typescript: { runtime: NODE, packageManagers: ["npm", "pnpm", "yarn"], ...NODE_MODULES },
  javascript: { runtime: NODE, packageManagers: ["npm", "pnpm", "yarn"], ...NODE_MODULES },
  bun: { runtime: BUN, packageManagers: ["bun"], ...NODE_MODULES },
  deno: { runtime: DENO, packageManagers: ["deno", "npm"], ...NODE_MODULES },
  go: { runtime: GO, packageManagers: ["go"], environment: ".svc/worker", programs: undefined, isCompiled: true },
  rust: { runtime: CARGO, packageManagers: ["cargo"], environment: "target", programs: undefined, isCompiled: true },
  other: { runtime: undefined, packageManagers: [], environment: undefined, programs: undefined, isCompiled: false },
};

/** Package managers that are not part of the runtime. */
export const packageManagerTools: Readonly<Partial<Record<PackageManager, Tool>>> = {
  uv: {
    program: "uv",
    version: ["--version"],
    install: "install it with `pipx install uv` or `pip install uv`, or as https://docs.astral.sh/uv says",
  },
  poetry: { program: "poetry", version: ["--version"], install: "install it with `pipx install poetry`" },
  npm: { program: "npm", version: ["--version"], install: "install Node 20 or newer, which brings it" },
  pnpm: { program: "pnpm", version: ["--version"], install: "install it with `npm install --global pnpm`" },
  yarn: { program: "yarn", version: ["--version"], install: "install it with `npm install --global yarn`" },
};

/** Files that show which package manager a project uses. */
export const lockFiles: Readonly<Record<PackageManager, readonly string[]>> = {
  pip: [],
  uv: ["uv.lock"],
  poetry: ["poetry.lock"],
  npm: ["package-lock.json", "npm-shrinkwrap.json"],
  pnpm: ["pnpm-lock.yaml"],
  yarn: ["yarn.lock"],
  bun: ["bun.lock", "bun.lockb"],
  deno: ["deno.lock"],
  go: ["go.sum"],
  cargo: ["Cargo.lock"],
};
