import type { CommandEntry, LocalWorkerEntry, WatchPatterns } from "../../config/types.ts";
import { EnvFileError, readEnvFiles } from "../../local-workers/env-file.ts";
import { workerEnvironment } from "../../local-workers/environment.ts";
import { InstallError, installWorker, isInstalled } from "../../local-workers/install.ts";
import { readManifest, type WorkerManifest } from "../../local-workers/manifest.ts";
import { ManifestError } from "../../local-workers/manifest-error.ts";

/** What is to be run. */
export interface RunPlan {
  /** Shell command. */
  readonly command: string;
  /** Absolute path of the working folder. */
  readonly folder: string;
  /** Before what the entry adds; asked at each start. Files of variables count as the plan found them. */
  readonly environment: () => Readonly<Record<string, string>>;
  /** What is watched; false: nothing. */
  readonly watch: false | WatchPatterns;
  readonly manifest: WorkerManifest | undefined;
  /** Variables that come from files; what they hold is shown to nobody. */
  readonly fromFiles: Readonly<Record<string, string>>;
  /** What was understood but has no effect. */
  readonly warnings: readonly string[];
}

/** It cannot be run as things are; a person has to mend something. */
export class RecipeError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = "RecipeError";
  }
}

export interface PrepareOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (line: string) => void;
  /** Also when nothing changed. */
  readonly force: boolean;
}

/** How a unit comes to be run: by a manifest and an install, or just as the config says. */
export interface Recipe {
  /** Absolute paths of files of variables, whether they are there or not. */
  readonly envFiles: readonly string[];
  /** Throws RecipeError. */
  read(): Promise<RunPlan>;
  /** The plan with what files of variables hold now: an install takes long, and may write them. Throws RecipeError. */
  withVariables(plan: RunPlan): Promise<RunPlan>;
  isPrepared(plan: RunPlan, signal: AbortSignal): Promise<boolean>;
  /** Throws RecipeError; rejects in whatever way once the signal aborted. */
  prepare(plan: RunPlan, options: PrepareOptions): Promise<{ readonly durationMs: number }>;
}

/** A worker is run as its manifest says, once its dependencies are installed. */
export function workerRecipe(entry: LocalWorkerEntry, projectDir: string): Recipe {
  const manifestOf = ({ manifest }: RunPlan): WorkerManifest => {
    if (manifest === undefined) throw new TypeError("a worker's plan comes from its manifest");
    return manifest;
  };
  const refused = (error: unknown): Error =>
    error instanceof ManifestError || error instanceof InstallError || error instanceof EnvFileError ? new RecipeError(error.message, error) : (error as Error);
  const planOf = async (manifest: WorkerManifest): Promise<RunPlan> => {
    const { start, folder, warnings } = manifest;
    const watch = watchedBy(entry.watch, manifest.watch);
    const fromFiles = await readEnvFiles(entry.envFiles);
    return { command: start, folder, environment: () => workerEnvironment(manifest, fromFiles), watch, manifest, fromFiles, warnings };
  };
  return {
    envFiles: entry.envFiles.map(({ path }) => path),
    async read() {
      try {
        // The entry's name counts: files about this worker are kept under it.
        return await planOf({ ...(await readManifest(entry.path)), name: entry.name });
      } catch (error) {
        throw refused(error);
      }
    },
    async withVariables(plan) {
      try {
        return await planOf(manifestOf(plan));
      } catch (error) {
        throw refused(error);
      }
    },
    async isPrepared(plan, signal) {
      try {
        return await isInstalled({ manifest: manifestOf(plan), projectDir, signal });
      } catch (error) {
        throw refused(error);
      }
    },
    async prepare(plan, options) {
      try {
        return await installWorker({ manifest: manifestOf(plan), projectDir, ...options });
      } catch (error) {
        throw refused(error);
      }
    },
  };
}

/** What the manifest ignores is ignored, whatever the entry says besides. */
function watchedBy(entry: false | WatchPatterns, manifest: WorkerManifest["watch"]): false | WatchPatterns {
  if (entry === false || manifest === false) return false;
  return { include: entry.include, ignore: [...manifest.ignore, ...entry.ignore] };
}

/** A command is run as the config has it, with what npm has installed in its folder at hand. */
export function commandRecipe(entry: CommandEntry): Recipe {
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
