import { relative } from "node:path";
import type { LoadedConfig } from "@svc-runtime/engine";
import { projectConfigFile } from "../engine/engine-address.ts";
import type { Shell } from "../shell.ts";

/** A problem or a warning in the config file or in a manifest that it lists. */
export interface ConfigFinding {
  /** Path of the file as shown in messages. */
  readonly file: string;
  /** Line number, from 1. Null if the finding concerns the whole file. */
  readonly line: number | null;
  readonly column: number | null;
  readonly key: string | null;
  readonly message: string;
}

export interface ConfigReport {
  /** Absolute path of the config file. */
  readonly file: string;
  /** Undefined if there are problems. */
  readonly config: LoadedConfig | undefined;
  readonly problems: readonly ConfigFinding[];
  readonly warnings: readonly string[];
}

/**
 * Validates a config file like the engine at startup, and the manifests of its workers. Does not start or change
 * anything.
 */
export async function checkConfig(
  shell: Pick<Shell, "cwd" | "env">,
  config: string | undefined,
): Promise<ConfigReport> {
  // Imported here, so that other commands do not load the engine's code.
  const { ConfigError, loadConfig, loadModules } = await import("@svc-runtime/engine");
  const file = projectConfigFile(shell, config);
  const modules = await loadModules();
  try {
    const loaded = loadConfig(file, { env: shell.env, modules, cwd: shell.cwd });
    const manifests = await Promise.all(loaded.localWorkers.map((worker) => manifestFindings(shell, worker)));
    return {
      file,
      config: loaded,
      problems: manifests.flatMap(({ problems }) => problems),
      warnings: [...loaded.warnings, ...manifests.flatMap(({ warnings }) => warnings)],
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const shown = shownPath(shell, file);
    const problems = error.problems.map(
      ({ line, column, key, message }): ConfigFinding => ({
        file: shown,
        line: line ?? null,
        column: column ?? null,
        key: key ?? null,
        message,
      }),
    );
    // Check the manifests too, so that the report contains the problems of the workers as well.
    const folders = [...new Map(error.folders.map((folder) => [folder.path, folder])).values()];
    const manifests = await Promise.all(folders.map((folder) => manifestFindings(shell, folder)));
    return {
      file,
      config: undefined,
      problems: [...problems, ...manifests.flatMap((manifest) => manifest.problems)],
      warnings: [],
    };
  }
}

async function manifestFindings(
  shell: Pick<Shell, "cwd">,
  { path, where }: Pick<LoadedConfig["localWorkers"][number], "path" | "where">,
): Promise<{ readonly problems: readonly ConfigFinding[]; readonly warnings: readonly string[] }> {
  const { ManifestError, readManifest } = await import("@svc-runtime/engine/local-workers");
  try {
    const { file, warnings } = await readManifest(path);
    return { problems: [], warnings: warnings.map((warning) => `${shownPath(shell, file)}: ${warning}`) };
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    const problems = error.problems.map(
      ({ line, column, key, message }): ConfigFinding => ({
        file: shownPath(shell, error.file),
        line: line ?? null,
        column: column ?? null,
        key: key ?? null,
        message: `${message} (listed at ${where})`,
      }),
    );
    return { problems, warnings: [] };
  }
}

/** Formats a finding, e.g. `config.yaml:3:7: engine.bridge.port: must be …`. */
export function formatFinding({ file, line, column, key, message }: ConfigFinding): string {
  const place = [file, ...(line === null ? [] : [line]), ...(column === null ? [] : [column])].join(":");
  return `${place}: ${key === null ? "" : `${key}: `}${message}`;
}

/** Returns a relative path for files below the working directory, otherwise the full path. */
export function shownPath({ cwd }: Pick<Shell, "cwd">, file: string): string {
  const path = relative(cwd, file);
  return path === "" || path.startsWith("..") ? file : path;
}
