import { randomBytes } from "node:crypto";

/**
 * Variable with the id of the run that a process belongs to. Processes inherit it, also when they leave the process
 * group. Its value is the run's id, followed by the ids of outer runs if the engine itself is part of a run:
 * `inner:outer`.
 */
export const RUN_VARIABLE = "SVC_RUN_ID";

const MARKER = /^[0-9a-f]{32}(?::[0-9a-f]{32})*$/;

/** Returns a new random id. */
export function newRunId(): string {
  return randomBytes(16).toString("hex");
}

/** Returns the variable's value for a run started by a process that has the value `inherited`. */
export function markerOf(runId: string, inherited: string | undefined): string {
  return inherited !== undefined && MARKER.test(inherited) ? `${runId}:${inherited}` : runId;
}

/**
 * Returns the run ids in an environment whose entries end with NUL, innermost run first. Empty if the process belongs
 * to no run.
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
