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

/** Output of a short command; undefined when it fails or cannot be found. */
export async function probe(command: string, args: readonly string[], options: Probe): Promise<string | undefined> {
  try {
    const { stdout } = await run(command, [...args], { env: options.env, cwd: options.cwd, signal: options.signal, timeout: PROBE_TIMEOUT_MS });
    return stdout.trim();
  } catch {
    options.signal.throwIfAborted();
    return undefined;
  }
}

export type VirtualEnvTool = { readonly command: string; readonly missing?: never } | { readonly missing: string; readonly command?: never };

/**
 * The command that makes a virtual environment. Debian's Python comes without `ensurepip`, and its `venv` then fails halfway;
 * so that is looked for first.
 */
export async function virtualEnvTool(options: Probe): Promise<VirtualEnvTool> {
  if ((await probe("python3", ["-c", "import venv, ensurepip"], options)) !== undefined) return { command: "python3 -m venv" };
  if ((await probe("python3", ["-c", "import virtualenv"], options)) !== undefined) return { command: "python3 -m virtualenv" };
  return {
    missing:
      "this Python cannot make virtual environments: its module `ensurepip` is missing, and `virtualenv` is not installed. " +
      "On Debian and Ubuntu install the package python3-venv: sudo apt install python3-venv",
  };
}

/** True when the worker's `.venv` has a Python that is still there. */
export async function hasVirtualEnv(folder: string): Promise<boolean> {
  return stat(join(virtualEnvFolder(folder), "bin", "python")).then(
    (entry) => entry.isFile(),
    () => false,
  );
}

/** True when its Python runs and has pip. */
export async function virtualEnvWorks(options: Probe): Promise<boolean> {
  return (await probe(join(virtualEnvFolder(options.cwd), "bin", "python"), ["-c", "import pip"], options)) !== undefined;
}

/**
 * A worker's `.venv` while another is made in its place: paths in it are absolute, so that the new one cannot be made elsewhere. It is kept in the
 * worker's folder, since a rename goes no farther than its disk.
 */
export class FormerVirtualEnv {
  readonly #place: string;
  readonly #aside: string;

  constructor(folder: string) {
    this.#place = virtualEnvFolder(folder);
    this.#aside = join(folder, ".svc", "former-venv");
  }

  /** Puts it aside. */
  async setAside(): Promise<void> {
    await this.discard();
    await mkdir(dirname(this.#aside), { recursive: true });
    await rename(this.#place, this.#aside).catch(unlessMissing);
  }

  /** Puts it back in the place of what was made since, where it was put aside. */
  async putBack(): Promise<void> {
    if ((await lstat(this.#aside).catch(unlessMissing)) !== undefined) {
      await rm(this.#place, { recursive: true, force: true });
      await rename(this.#aside, this.#place);
    }
    await this.discard();
  }

  async discard(): Promise<void> {
    await rm(this.#aside, { recursive: true, force: true });
    // Others may keep something there.
    await rmdir(dirname(this.#aside)).catch(() => {});
  }
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
