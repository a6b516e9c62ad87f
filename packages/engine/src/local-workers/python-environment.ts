import { execFile } from "node:child_process";
import { lstat, mkdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { virtualEnvFolder } from "./environment.ts";

const run = promisify(execFile);
const PROBE_TIMEOUT_MS = 30_000;

export interface Probe {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly signal: AbortSignal;
}

/** Returns the output of a short command, or undefined if it fails or is not found. */
export async function probe(command: string, args: readonly string[], options: Probe): Promise<string | undefined> {
  try {
    const { stdout } = await run(command, [...args], {
      env: options.env,
      cwd: options.cwd,
      signal: options.signal,
      timeout: PROBE_TIMEOUT_MS,
    });
    return stdout.trim();
  } catch {
    options.signal.throwIfAborted();
    return undefined;
  }
}

export type VirtualEnvTool =
  | { readonly command: string; readonly missing?: never }
  | { readonly missing: string; readonly command?: never };

/**
 * Returns the command that creates a virtual environment. Checks for the module `ensurepip` first, because Debian's
 * Python lacks it, and `venv` then fails halfway.
 */
export async function virtualEnvTool(options: Probe): Promise<VirtualEnvTool> {
  if ((await probe("python3", ["-c", "import venv, ensurepip"], options)) !== undefined)
    return { command: "python3 -m venv" };
  if ((await probe("python3", ["-c", "import virtualenv"], options)) !== undefined)
    return { command: "python3 -m virtualenv" };
  return {
    missing:
      "this Python cannot create virtual environments: its module `ensurepip` is missing, and `virtualenv` is not installed. " +
      "On Debian and Ubuntu install the package python3-venv: sudo apt install python3-venv",
  };
}

/** Returns true if the worker's `.venv` has a Python that still exists. */
export async function hasVirtualEnv(folder: string): Promise<boolean> {
  return stat(join(virtualEnvFolder(folder), "bin", "python")).then(
    (entry) => entry.isFile(),
    () => false,
  );
}

/** Returns true if the Python of the worker's `.venv` runs and has pip. */
export async function virtualEnvWorks(options: Probe): Promise<boolean> {
  return (
    (await probe(join(virtualEnvFolder(options.cwd), "bin", "python"), ["-c", "import pip"], options)) !== undefined
  );
}

/**
 * Keeps a worker's `.venv` while a new one is created in its place. The new one cannot be created elsewhere and moved,
 * because the paths in it are absolute. The backup is in the worker's folder, because a rename works only within a file
 * system.
 */
export class VirtualEnvBackup {
  readonly #original: string;
  readonly #backup: string;

  constructor(folder: string) {
    this.#original = virtualEnvFolder(folder);
    this.#backup = join(folder, ".svc", "former-venv");
  }

  /** Moves the environment to the backup. */
  async backUp(): Promise<void> {
    await this.discard();
    await mkdir(dirname(this.#backup), { recursive: true });
    await rename(this.#original, this.#backup).catch(unlessMissing);
  }

  /** Replaces the environment with the backup, if there is one. */
  async restore(): Promise<void> {
    if ((await lstat(this.#backup).catch(unlessMissing)) !== undefined) {
      await rm(this.#original, { recursive: true, force: true });
      await rename(this.#backup, this.#original);
    }
    await this.discard();
  }

  async discard(): Promise<void> {
    await rm(this.#backup, { recursive: true, force: true });
    // The folder is removed only if it is empty, because it may contain other files.
    await rmdir(dirname(this.#backup)).catch(() => {});
  }
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
