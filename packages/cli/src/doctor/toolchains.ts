import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { kindRules, packageManagerTools, type Tool, type WorkerManifest } from "@svc-runtime/engine/local-workers";
import { type Check, type CheckContext, type Finding, isAtLeast } from "./finding.ts";

/** Minimum versions by program. */
const LEAST: Readonly<Record<string, string>> = { python3: "3.10", node: "20.19" };

/** Checks that the tools that are needed by the workers' manifests are installed. */
export const toolchains: Check = async (context) => {
  const manifests = await manifestsOf(context);
  const needed = new Map<string, { readonly tool: Tool; readonly workers: string[] }>();
  for (const manifest of manifests) {
    for (const tool of toolsOf(manifest)) {
      const known = needed.get(tool.program) ?? { tool, workers: [] };
      if (!known.workers.includes(manifest.name)) known.workers.push(manifest.name);
      needed.set(tool.program, known);
    }
  }
  return Promise.all([...needed.values()].map(({ tool, workers }) => checkTool(tool, workers, context)));
};

/** Returns the tools that run and install the worker. */
function toolsOf({ kind, packageManager }: Pick<WorkerManifest, "kind" | "packageManager">): readonly Tool[] {
  const tools = [
    kindRules[kind].runtime,
    packageManager === undefined ? undefined : packageManagerTools[packageManager],
  ];
  return tools.filter((tool) => tool !== undefined);
}

const run = promisify(execFile);

async function checkTool(
  { program, version: args, install }: Tool,
  workers: readonly string[],
  { shell, signal }: Pick<CheckContext, "shell" | "signal">,
): Promise<Finding> {
  const least = LEAST[program];
  const remedy = `${install.charAt(0).toUpperCase()}${install.slice(1)}`;
  const neededBy = `needed by ${workers.join(", ")}`;
  try {
    const { stdout, stderr } = await run(program, [...args], { env: shell.env, cwd: shell.cwd, signal });
    const version = /\d+(?:\.\d+)+/.exec(`${stdout}${stderr}`)?.[0] ?? "";
    if (least !== undefined && !isAtLeast(version, least)) {
      return {
        check: program,
        status: "problem",
        message: `${version || "its version"} is too old; ${neededBy}`,
        remedy,
      };
    }
    return { check: program, status: "ok", message: `${version} (${neededBy})` };
  } catch (error) {
    signal.throwIfAborted();
    const why =
      (error as NodeJS.ErrnoException).code === "ENOENT"
        ? "not found on the PATH"
        : `failed to run: ${(error as Error).message.split("\n", 1)[0]}`;
    return { check: program, status: "problem", message: `${why}; ${neededBy}`, remedy };
  }
}

/** Returns the valid manifests of the config file's workers. The config check reports invalid ones. */
export async function manifestsOf({ report }: Pick<CheckContext, "report">): Promise<readonly WorkerManifest[]> {
  const { ManifestError, readManifest } = await import("@svc-runtime/engine/local-workers");
  const read = async (path: string): Promise<readonly WorkerManifest[]> => {
    try {
      return [await readManifest(path)];
    } catch (error) {
      if (error instanceof ManifestError) return [];
      throw error;
    }
  };
  return (await Promise.all((report.config?.localWorkers ?? []).map(({ path }) => read(path)))).flat();
}
