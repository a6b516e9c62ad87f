import { execFile } from "node:child_process";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
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

export async function removeVirtualEnv(folder: string): Promise<void> {
  await rm(virtualEnvFolder(folder), { recursive: true, force: true });
}
