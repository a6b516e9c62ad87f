import { delimiter, dirname, join } from "node:path";
import { RUN_VARIABLE } from "./run-marker.ts";
import { kindRules, type PackageManager, type RuntimeKind } from "./runtime-kinds.ts";

/** The parts of a manifest that determine the environment. */
interface EnvironmentFacts {
  readonly kind: RuntimeKind;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Variables that only the engine sets. With other values the worker could not connect. */
export const RESERVED_VARIABLES: ReadonlySet<string> = new Set([
  "SVC_URL",
  "SVC_TOKEN",
  "SVC_WORKER_NAME",
  "III_URL",
  "III_ENGINE_URL",
  RUN_VARIABLE,
]);

/**
 * Variables that npm sets when it runs a script. They describe the package of that script. So an npm that runs in the
 * worker's folder would use wrong values.
 */
const NPM_SCRIPT_VARIABLES =
  /^(npm_lifecycle_.*|npm_package_.*|npm_command|npm_execpath|npm_node_execpath|npm_config_local_prefix|npm_config_global_prefix|INIT_CWD)$/;
/**
 * Variables that are not passed on. They would make an install write outside of the worker's environment, or add
 * colours to its output.
 */
const MISLEADING_VARIABLES = new Set([
  "FORCE_COLOR",
  "VIRTUAL_ENV",
  "PYTHONHOME",
  "PIP_USER",
  "PIP_TARGET",
  "PIP_PREFIX",
  "__PYVENV_LAUNCHER__",
]);

/** Returns the folder of a Python worker's virtual environment. */
export function virtualEnvFolder(folder: string): string {
  return join(folder, ".venv");
}

/**
 * Returns the environment of a worker's commands. It consists of, in the order of increasing precedence: the variables
 * of the env files; the variables of this process; PATH, with the worker's programs first, and unbuffered output; the
 * manifest's `env`.
 */
export function workerEnvironment(
  manifest: EnvironmentFacts,
  fromFiles: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const inherited = Object.entries(process.env).filter((pair): pair is [string, string] => {
    const [name, value] = pair;
    return value !== undefined && !MISLEADING_VARIABLES.has(name) && !NPM_SCRIPT_VARIABLES.test(name);
  });
  const env: Record<string, string> = { ...fromFiles, ...Object.fromEntries(inherited), PYTHONUNBUFFERED: "1" };
  const { programs } = kindRules[manifest.kind];
  const own = programs === undefined ? [] : [join(manifest.folder, programs)];
  // The folder of the current Node is the last one in PATH. It is needed if Node was started by its full path.
  env.PATH = [...own, process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin", dirname(process.execPath)].join(delimiter);
  if (manifest.kind === "python") env.VIRTUAL_ENV = virtualEnvFolder(manifest.folder);
  return { ...env, ...manifest.env };
}

/**
 * Returns the environment for the install command. It is the environment of the worker's commands, but with less
 * output.
 */
export function installEnvironment(
  manifest: EnvironmentFacts & { readonly packageManager: PackageManager | undefined },
): Record<string, string> {
  return {
    ...workerEnvironment(manifest),
    PIP_DISABLE_PIP_VERSION_CHECK: "1",
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
    npm_config_progress: "false",
    // Disable prompts, because nobody can answer them. Only pnpm gets this variable, because npm warns about unknown
    // ones.
    ...(manifest.packageManager === "pnpm" ? { npm_config_confirm_modules_purge: "false" } : {}),
    COREPACK_ENABLE_DOWNLOAD_PROMPT: "0",
    // Install into the worker's environment, even if the user's settings say otherwise.
    UV_PROJECT_ENVIRONMENT: ".venv",
    POETRY_VIRTUALENVS_IN_PROJECT: "true",
    NO_COLOR: "1",
  };
}
