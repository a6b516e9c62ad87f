import type { ConfigReport } from "../config-check.ts";
import type { EngineAddress } from "../engine-address.ts";
import type { Shell } from "../shell.ts";

/** What one check found. */
export interface Finding {
  /** What was looked at, e.g. `node` or `port 3111`. */
  readonly check: string;
  readonly status: "ok" | "warning" | "problem";
  readonly message: string;
  /** What to do about it; undefined where nothing is to be done. */
  readonly remedy?: string | undefined;
}

/** What checks look at. */
export interface Surroundings {
  readonly shell: Pick<Shell, "cwd" | "env">;
  /** The config file at hand, read and checked. */
  readonly report: ConfigReport;
  /** Where the engine is looked for. */
  readonly address: EngineAddress;
  /** An engine announced itself for this config file, and its process is there. */
  readonly isRunning: boolean;
  /** Aborts when the check has had its time. */
  readonly signal: AbortSignal;
}

/** One thing to look at; never rejects for what it finds. May find nothing to say. */
export type Check = (surroundings: Surroundings) => Promise<readonly Finding[]>;

/** `major.minor` or more, by number: is `version` at least `least`? */
export function isAtLeast(version: string, least: string): boolean {
  const [have, want] = [version, least].map((text) => text.split(".").map(Number));
  for (const [index, number] of (want ?? []).entries()) {
    const found = have?.[index] ?? 0;
    if (found !== number) return found > number;
  }
  return true;
}
