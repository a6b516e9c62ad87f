import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { WorkerManifest } from "@svc/engine/local-workers";
import { type Check, type Finding, isAtLeast, type Surroundings } from "./finding.ts";
import { manifestsOf } from "./manifests.ts";

interface Toolchain {
  readonly command: string;
  readonly args: readonly string[];
  readonly least?: string;
  readonly remedy: string;
}

const PYTHON: Toolchain = {
  command: "python3",
  args: ["--version"],
  least: "3.10",
  remedy: "Install Python 3.10 or later, with its package python3-venv on Debian",
};
const NODE: Toolchain = { command: "node", args: ["--version"], least: "20.19", remedy: "Install Node 20.19 or later: https://nodejs.org" };

/** By the manifest's `runtime.kind` and `runtime.package_manager`. */
const TOOLCHAINS: Readonly<Record<string, Toolchain>> = {
  python: PYTHON,
  pip: PYTHON,
  uv: { command: "uv", args: ["--version"], remedy: "Install uv: https://docs.astral.sh/uv" },
  typescript: NODE,
  javascript: NODE,
  node: NODE,
  npm: { command: "npm", args: ["--version"], remedy: "Install npm; it comes with Node" },
  pnpm: { command: "pnpm", args: ["--version"], remedy: "Install pnpm: npm install --global pnpm" },
  yarn: { command: "yarn", args: ["--version"], remedy: "Install yarn: npm install --global yarn" },
  bun: { command: "bun", args: ["--version"], remedy: "Install bun: npm install --global bun" },
  deno: { command: "deno", args: ["--version"], remedy: "Install deno: npm install --global deno" },
  go: { command: "go", args: ["version"], remedy: "Install Go: https://go.dev/dl" },
  rust: { command: "cargo", args: ["--version"], remedy: "Install Rust: https://rustup.rs" },
  cargo: { command: "cargo", args: ["--version"], remedy: "Install Rust: https://rustup.rs" },
};

/** What the manifests of the project's workers need is installed. */
export const toolchains: Check = async (surroundings) => {
  const manifests = await manifestsOf(surroundings);
  const needed = new Map<string, { readonly toolchain: Toolchain; readonly workers: string[] }>();
  for (const manifest of manifests) {
    for (const toolchain of toolchainsOf(manifest)) {
      const known = needed.get(toolchain.command) ?? { toolchain, workers: [] };
      if (!known.workers.includes(manifest.name)) known.workers.push(manifest.name);
      needed.set(toolchain.command, known);
    }
  }
  return Promise.all([...needed.values()].map(({ toolchain, workers }) => look(toolchain, workers, surroundings)));
};

function toolchainsOf({ kind, packageManager }: Pick<WorkerManifest, "kind" | "packageManager">): readonly Toolchain[] {
  return [kind, packageManager].flatMap((name) => (Object.hasOwn(TOOLCHAINS, name) ? (TOOLCHAINS[name] ?? []) : []));
}

const run = promisify(execFile);

async function look(
  { command, args, least, remedy }: Toolchain,
  workers: readonly string[],
  { shell, signal }: Pick<Surroundings, "shell" | "signal">,
): Promise<Finding> {
  const neededBy = `needed by ${workers.join(", ")}`;
  try {
    const { stdout, stderr } = await run(command, [...args], { env: shell.env, cwd: shell.cwd, signal });
    const version = /\d+(?:\.\d+)+/.exec(`${stdout}${stderr}`)?.[0] ?? "";
    if (least !== undefined && !isAtLeast(version, least)) {
      return { check: command, status: "problem", message: `${version || "its version"} is too old; ${neededBy}`, remedy };
    }
    return { check: command, status: "ok", message: `${version} (${neededBy})` };
  } catch (error) {
    signal.throwIfAborted();
    const why = (error as NodeJS.ErrnoException).code === "ENOENT" ? "not found on the PATH" : `does not run: ${(error as Error).message.split("\n", 1)[0]}`;
    return { check: command, status: "problem", message: `${why}; ${neededBy}`, remedy };
  }
}
