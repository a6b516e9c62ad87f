import { randomBytes } from "node:crypto";

/**
 * Variable with the id of the run that a process belongs to. Processes inherit it and keep it even if they leave the
 * process group. If the engine itself is part of a run, the value has the ids of the outer runs too: `inner:outer`.
 */
export const RUN_VARIABLE = "SVC_RUN_ID";

const MARKER = /^[0-9a-f]{32}(?::[0-9a-f]{32})*$/;

/** Returns a new random id. */
export function newRunId(): string {
  return randomBytes(16).toString("hex");
}

/** Returns the variable's value for a new run. `inherited` is the value that the starting process has itself. */
export function markerOf(runId: string, inherited: string | undefined): string {
  return inherited !== undefined && MARKER.test(inherited) ? `${runId}:${inherited}` : runId;
}

/**
 * Returns the run ids in an environment, the innermost run first. The entries of the environment end with NUL. Empty if
 * the process belongs to no run.
 */
export function runIdsIn(environment: string): readonly string[] {
  const prefix = `${RUN_VARIABLE}=`;
  const value =
    environment
      .split("\0")
      .find((entry) => entry.startsWith(prefix))
      ?.slice(prefix.length) ?? "";
  return MARKER.test(value) ? value.split(":") : [];
}
