import type { EngineAddress } from "../engine/engine-address.ts";
import type { ConfigReport } from "../project/config-check.ts";
import type { Shell } from "../shell.ts";

/** Result of one check. */
export interface Finding {
  /** Name of the thing that was checked, e.g. `node` or `port 3111`. */
  readonly check: string;
  readonly status: "ok" | "warning" | "problem";
  readonly message: string;
  /** How to fix the problem. Undefined if nothing needs to be done. */
  readonly remedy?: string | undefined;
}

/** Input of all checks. */
export interface CheckContext {
  readonly shell: Pick<Shell, "cwd" | "env">;
  /** The validated config file. */
  readonly report: ConfigReport;
  /** Address of the engine. */
  readonly address: EngineAddress;
  /** True if an engine announced itself for this config file and its process exists. */
  readonly isRunning: boolean;
  /** Aborts when the check times out. */
  readonly signal: AbortSignal;
}

/** A check. Reports failures as findings; it does not reject. May return no findings. */
export type Check = (context: CheckContext) => Promise<readonly Finding[]>;

/** Returns true if `version` is at least `least`. Both are dotted versions; their parts are compared as numbers. */
export function isAtLeast(version: string, least: string): boolean {
  const [have, want] = [version, least].map((text) => text.split(".").map(Number));
  for (const [index, number] of (want ?? []).entries()) {
    const found = have?.[index] ?? 0;
    if (found !== number) return found > number;
  }
  return true;
}
