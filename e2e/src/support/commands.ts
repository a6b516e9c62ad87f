import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const TIMEOUT_MS = 200_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/**
 * Runs a program and resolves with its standard output. Rejects with both outputs if it fails. `env` is added to the
 * environment of this process.
 */
export async function runToEnd(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<string> {
  try {
    const { stdout } = await run(program, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      timeout: TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT_BYTES,
    });
    return stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(" ")} failed: ${(error as Error).message}\n${stdout}\n${stderr}`, {
      cause: error,
    });
  }
}
