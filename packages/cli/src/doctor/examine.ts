import { announcedEngine } from "../engine/announced-engine.ts";
import { engineAddress } from "../engine/engine-address.ts";
import { checkConfig } from "../project/config-check.ts";
import type { Shell } from "../shell.ts";
import { configFile } from "./config-file.ts";
import { dataFolder } from "./data-folder.ts";
import { engine } from "./engine.ts";
import type { Check, CheckContext, Finding } from "./finding.ts";
import { nodeVersion } from "./node-version.ts";
import { ports } from "./ports.ts";
import { sdkVersions } from "./sdk-versions.ts";
import { toolchains } from "./toolchains.ts";

/** Checks, in the order of the output. */
const CHECKS: Readonly<Record<string, Check>> = {
  node: nodeVersion,
  config: configFile,
  toolchains,
  sdk: sdkVersions,
  ports,
  "data folder": dataFolder,
  engine,
};
/** Timeout of one check, in milliseconds. */
const CHECK_TIMEOUT_MS = 20_000;

/** Runs all checks concurrently. Each has its own timeout. A check that throws becomes a finding. */
export async function examine(
  shell: Shell,
  options: { readonly url?: string | undefined; readonly config?: string | undefined },
  checks: Readonly<Record<string, Check>> = CHECKS,
  timeoutMs = CHECK_TIMEOUT_MS,
): Promise<readonly Finding[]> {
  const report = await checkConfig(shell, options.config);
  const isRunning = announcedEngine(shell, report.file) !== undefined;
  const context = { shell, report, address: engineAddress(shell, options), isRunning };
  const found = await Promise.all(
    Object.entries(checks).map(([name, check]) => withTimeout(name, check, context, timeoutMs)),
  );
  return found.flat();
}

async function withTimeout(
  name: string,
  check: Check,
  context: Omit<CheckContext, "signal">,
  timeoutMs: number,
): Promise<readonly Finding[]> {
  const signal = AbortSignal.timeout(timeoutMs);
  const timedOut = new Promise<readonly Finding[]>((settle) => {
    signal.addEventListener(
      "abort",
      () => settle([{ check: name, status: "problem", message: `timed out after ${timeoutMs / 1000} s` }]),
      { once: true },
    );
  });
  const checked = check({ ...context, signal }).catch((error: unknown): readonly Finding[] => [
    {
      check: name,
      status: "problem",
      message: `check failed: ${error instanceof Error ? error.message : String(error)}`,
    },
  ]);
  return Promise.race([checked, timedOut]);
}
