import type { CommandEntry, LocalWorkerEntry, WatchPatterns } from "../../config/types.ts";
import { EnvFileError, readEnvFiles } from "../../local-workers/env-file.ts";
import { workerEnvironment } from "../../local-workers/environment.ts";
import { missingTsx } from "../../local-workers/inferred-commands.ts";
import { InstallError, installWorker, isInstalled } from "../../local-workers/install.ts";
import { ManifestError, readManifest, type WorkerManifest } from "../../local-workers/manifest.ts";

/** A command with its folder, its variables and its watched files. */
export interface RunPlan {
  /** Shell command. */
  readonly command: string;
  /** Absolute path of the working folder. */
  readonly folder: string;
  /**
   * Returns the variables of the manifest and of env files, without the variables of the entry. Called at each start.
   * Env files are not read again: their values are from the time when the plan was read.
   */
  readonly environment: () => Readonly<Record<string, string>>;
  /** Watched files. False: no file is watched. */
  readonly watch: false | WatchPatterns;
  readonly manifest: WorkerManifest | undefined;
  /** Variables from env files. Their values are never shown. */
  readonly fromFiles: Readonly<Record<string, string>>;
  /** Warnings about keys without effect. */
  readonly warnings: readonly string[];
}

/** Thrown when the user must fix something before the unit can run. */
export class UnitPreparationError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = "UnitPreparationError";
  }
}

export interface PrepareOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (line: string) => void;
  /** Installs even if nothing changed. */
  readonly force: boolean;
}

/** How a unit is run: by a manifest and an install, or directly from the config. */
export interface UnitPreparation {
  /** Absolute paths of env files, including missing ones. */
  readonly envFiles: readonly string[];
  /** Throws UnitPreparationError. */
  read(): Promise<RunPlan>;
  /**
   * Returns the plan with the current values of env files. Called after the install, because an install is slow and may
   * write env files. Throws UnitPreparationError.
   */
  withVariables(plan: RunPlan): Promise<RunPlan>;
  isPrepared(plan: RunPlan, signal: AbortSignal): Promise<boolean>;
  /** Installs dependencies. Throws UnitPreparationError; after an abort it may reject with any error. */
  prepare(plan: RunPlan, options: PrepareOptions): Promise<{ readonly durationMs: number }>;
}

/** Returns the preparation of a worker: its manifest, with its dependencies installed. */
export function workerPreparation(entry: LocalWorkerEntry, projectDir: string): UnitPreparation {
  const manifestOf = ({ manifest }: RunPlan): WorkerManifest => {
    if (manifest === undefined) throw new TypeError("a worker's plan comes from its manifest");
    return manifest;
  };
  const preparationError = (error: unknown): Error =>
    error instanceof ManifestError || error instanceof InstallError || error instanceof EnvFileError
      ? new UnitPreparationError(error.message, error)
      : (error as Error);
  const planOf = async (manifest: WorkerManifest): Promise<RunPlan> => {
    const { start, folder, warnings } = manifest;
    const watch = watchedBy(entry.watch, manifest.watch);
    const fromFiles = await readEnvFiles(entry.envFiles);
    return {
      command: start,
      folder,
      environment: () => workerEnvironment(manifest, fromFiles),
      watch,
      manifest,
      fromFiles,
      warnings,
    };
  };
  return {
    envFiles: entry.envFiles.map(({ path }) => path),
    async read() {
      try {
        // The entry's name is used, because files about this worker are named after it.
        return await planOf({ ...(await readManifest(entry.path)), name: entry.name });
      } catch (error) {
        throw preparationError(error);
      }
    },
    async withVariables(plan) {
      const missing = await missingTsx(manifestOf(plan));
      if (missing !== undefined) throw new UnitPreparationError(missing, undefined);
      try {
        return await planOf(manifestOf(plan));
      } catch (error) {
        throw preparationError(error);
      }
    },
    async isPrepared(plan, signal) {
      try {
        return await isInstalled({ manifest: manifestOf(plan), projectDir, signal });
      } catch (error) {
        throw preparationError(error);
      }
    },
    async prepare(plan, options) {
      try {
        return await installWorker({ manifest: manifestOf(plan), projectDir, ...options });
      } catch (error) {
        throw preparationError(error);
      }
    },
  };
}

/** Returns the watched files. The ignore list of the manifest applies in addition to the ignore list of the entry. */
function watchedBy(entry: false | WatchPatterns, manifest: WorkerManifest["watch"]): false | WatchPatterns {
  if (entry === false || manifest === false) return false;
  return { include: entry.include, ignore: [...manifest.ignore, ...entry.ignore] };
}

/** Returns the preparation of a command: the command in the config, with the npm packages of its folder in PATH. */
export function commandPreparation(entry: CommandEntry): UnitPreparation {
  const plan: RunPlan = {
    command: entry.command,
    folder: entry.path,
    environment: () => workerEnvironment({ kind: "javascript", folder: entry.path, env: {} }),
    watch: entry.watch,
    manifest: undefined,
    fromFiles: {},
    warnings: [],
  };
  return {
    envFiles: [],
    read: () => Promise.resolve(plan),
    withVariables: () => Promise.resolve(plan),
    isPrepared: () => Promise.resolve(true),
    prepare: () => Promise.resolve({ durationMs: 0 }),
  };
}
