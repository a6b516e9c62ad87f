import { delimiter, dirname, join } from "node:path";
import type { WorkerManifest } from "./manifest.ts";
import { RUN_VARIABLE } from "./run-marker.ts";
import { kindRules } from "./runtime-kinds.ts";

/** The engine decides these; whoever else set them would cut a worker off. */
export const RESERVED_VARIABLES: ReadonlySet<string> = new Set(["SVC_URL", "SVC_TOKEN", "SVC_WORKER_NAME", "III_URL", "III_ENGINE_URL", RUN_VARIABLE]);

/** What a script of npm leaves in the environment: it describes that script's package, and would mislead an npm started below it. */
const NPM_SCRIPT_VARIABLES =
  /^(npm_lifecycle_.*|npm_package_.*|npm_command|npm_execpath|npm_node_execpath|npm_config_local_prefix|npm_config_global_prefix|INIT_CWD)$/;
/** These would send an install elsewhere than into the worker's own environment, or colour its captured output. */
const MISLEADING_VARIABLES = new Set(["FORCE_COLOR", "VIRTUAL_ENV", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "__PYVENV_LAUNCHER__"]);

/** Folder of a Python worker's own environment. */
export function virtualEnvFolder(folder: string): string {
  return join(folder, ".venv");
}

/**
 * The environment in which a worker's commands run, the weakest first: the variables of its files, this process's, the worker's own
 * programs first in PATH, output unbuffered, then the manifest's `env`.
 */
export function workerEnvironment(
  manifest: Pick<WorkerManifest, "kind" | "folder" | "env">,
  fromFiles: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const inherited = Object.entries(process.env).filter((pair): pair is [string, string] => {
    const [name, value] = pair;
    return value !== undefined && !MISLEADING_VARIABLES.has(name) && !NPM_SCRIPT_VARIABLES.test(name);
  });
  const env: Record<string, string> = { ...fromFiles, ...Object.fromEntries(inherited), PYTHONUNBUFFERED: "1" };
  const { programs } = kindRules[manifest.kind];
  const own = programs === undefined ? [] : [join(manifest.folder, programs)];
  // The Node that runs us comes last, for when it was started by its full path.
  env.PATH = [...own, process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin", dirname(process.execPath)].join(delimiter);
  if (manifest.kind === "python") env.VIRTUAL_ENV = virtualEnvFolder(manifest.folder);
  return { ...env, ...manifest.env };
}

/** The same, quietened for the install command. */
export function installEnvironment(manifest: Pick<WorkerManifest, "kind" | "folder" | "env">): Record<string, string> {
  return {
    ...workerEnvironment(manifest),
    PIP_DISABLE_PIP_VERSION_CHECK: "1",
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
    npm_config_progress: "false",
    // Questions that nobody is there to answer.
    npm_config_confirm_modules_purge: "false",
    COREPACK_ENABLE_DOWNLOAD_PROMPT: "0",
    // Into the worker's own environment, wherever the user's settings would have it.
    UV_PROJECT_ENVIRONMENT: ".venv",
    POETRY_VIRTUALENVS_IN_PROJECT: "true",
    NO_COLOR: "1",
  };
}
