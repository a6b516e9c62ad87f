import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { kindRules, packageManagerTools, type Tool, type WorkerManifest } from "@svc/engine/local-workers";
import { type Check, type Finding, isAtLeast, type Surroundings } from "./finding.ts";
import { manifestsOf } from "./manifests.ts";

/** The oldest versions that will do, by the program's name. */
const LEAST: Readonly<Record<string, string>> = { python3: "3.10", node: "20.19" };

/** What the manifests of the project's workers need is installed. */
export const toolchains: Check = async (surroundings) => {
  const manifests = await manifestsOf(surroundings);
  const needed = new Map<string, { readonly tool: Tool; readonly workers: string[] }>();
  for (const manifest of manifests) {
    for (const tool of toolsOf(manifest)) {
      const known = needed.get(tool.program) ?? { tool, workers: [] };
      if (!known.workers.includes(manifest.name)) known.workers.push(manifest.name);
      needed.set(tool.program, known);
    }
  }
  return Promise.all([...needed.values()].map(({ tool, workers }) => look(tool, workers, surroundings)));
};

/** What runs the worker and what installs it, each once. */
function toolsOf({ kind, packageManager }: Pick<WorkerManifest, "kind" | "packageManager">): readonly Tool[] {
  const tools = [kindRules[kind].runtime, packageManager === undefined ? undefined : packageManagerTools[packageManager]];
  return tools.filter((tool) => tool !== undefined);
}

const run = promisify(execFile);

async function look(
  { program, version: args, install }: Tool,
  workers: readonly string[],
  { shell, signal }: Pick<Surroundings, "shell" | "signal">,
): Promise<Finding> {
  const least = LEAST[program];
  const remedy = `${install.charAt(0).toUpperCase()}${install.slice(1)}`;
  const neededBy = `needed by ${workers.join(", ")}`;
  try {
    const { stdout, stderr } = await run(program, [...args], { env: shell.env, cwd: shell.cwd, signal });
    const version = /\d+(?:\.\d+)+/.exec(`${stdout}${stderr}`)?.[0] ?? "";
    if (least !== undefined && !isAtLeast(version, least)) {
      return { check: program, status: "problem", message: `${version || "its version"} is too old; ${neededBy}`, remedy };
    }
    return { check: program, status: "ok", message: `${version} (${neededBy})` };
  } catch (error) {
    signal.throwIfAborted();
    const why = (error as NodeJS.ErrnoException).code === "ENOENT" ? "not found on the PATH" : `does not run: ${(error as Error).message.split("\n", 1)[0]}`;
    return { check: program, status: "problem", message: `${why}; ${neededBy}`, remedy };
  }
}
