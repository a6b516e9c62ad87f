import { randomBytes } from "node:crypto";

/**
 * Variable that names the run a process belongs to. Processes inherit it, also when they leave the process group. Its value is the run's id,
 * followed by the ids of the runs around it when the engine is part of a run itself: `inner:outer`.
 */
export const RUN_VARIABLE = "SVC_RUN_ID";

const MARKER = /^[0-9a-f]{32}(?::[0-9a-f]{32})*$/;

/** Returns an id that no other run has. */
export function newRunId(): string {
  return randomBytes(16).toString("hex");
}

/** Returns the variable's value for a run started by a process that has the value `inherited`. */
export function markerOf(runId: string, inherited: string | undefined): string {
  return inherited !== undefined && MARKER.test(inherited) ? `${runId}:${inherited}` : runId;
}

/** Returns the ids in an environment whose entries end with NUL, innermost run first; none when the process belongs to no run. */
export function runIdsIn(environment: string): readonly string[] {
  const prefix = `${RUN_VARIABLE}=`;
  const value =
    environment
      .split("\0")
      .find((entry) => entry.startsWith(prefix))
      ?.slice(prefix.length) ?? "";
  return MARKER.test(value) ? value.split(":") : [];
}
