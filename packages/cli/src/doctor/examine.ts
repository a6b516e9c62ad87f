import { announcedEngine } from "../announced-engine.ts";
import { checkConfig } from "../config-check.ts";
import { engineAddress } from "../engine-address.ts";
import type { Shell } from "../shell.ts";
import { configFile } from "./config-file.ts";
import { dataFolder } from "./data-folder.ts";
import { engine } from "./engine.ts";
import type { Check, Finding, Surroundings } from "./finding.ts";
import { nodeVersion } from "./node-version.ts";
import { ports } from "./ports.ts";
import { sdkVersions } from "./sdk-versions.ts";
import { toolchains } from "./toolchains.ts";

/** In the order in which they are shown. */
const CHECKS: Readonly<Record<string, Check>> = {
  node: nodeVersion,
  config: configFile,
  toolchains,
  sdk: sdkVersions,
  ports,
  "data folder": dataFolder,
  engine,
};
/** How long one check may take, in milliseconds. */
const CHECK_TIMEOUT_MS = 20_000;

/** Looks at everything at once. Each check has its own deadline; one that fails is a finding, too. */
export async function examine(
  shell: Shell,
  options: { readonly url?: string | undefined; readonly config?: string | undefined },
  checks: Readonly<Record<string, Check>> = CHECKS,
  timeoutMs = CHECK_TIMEOUT_MS,
): Promise<readonly Finding[]> {
  const report = await checkConfig(shell, options.config);
  const isRunning = announcedEngine(shell, report.file) !== undefined;
  const surroundings = { shell, report, address: engineAddress(shell, options), isRunning };
  const found = await Promise.all(Object.entries(checks).map(([name, check]) => inTime(name, check, surroundings, timeoutMs)));
  return found.flat();
}

async function inTime(name: string, check: Check, surroundings: Omit<Surroundings, "signal">, timeoutMs: number): Promise<readonly Finding[]> {
  const signal = AbortSignal.timeout(timeoutMs);
  const tooLong = new Promise<readonly Finding[]>((settle) => {
    signal.addEventListener("abort", () => settle([{ check: name, status: "problem", message: `not done within ${timeoutMs / 1000} s` }]), { once: true });
  });
  const looked = check({ ...surroundings, signal }).catch((error: unknown): readonly Finding[] => [
    { check: name, status: "problem", message: `could not be looked at: ${error instanceof Error ? error.message : String(error)}` },
  ]);
  return Promise.race([looked, tooLong]);
}
