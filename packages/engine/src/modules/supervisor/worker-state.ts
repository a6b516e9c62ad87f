import type { WorkerState } from "@svc-runtime/protocol/listings";

export type { WorkerState } from "@svc-runtime/protocol/listings";

/** State of a worker or of one of its processes. `reason` explains it if needed. */
export interface ProcessStatus {
  readonly state: WorkerState;
  readonly reason: string | undefined;
}

/** A worker with several processes has the first of these states that one of its processes has. */
const WORST_FIRST: readonly WorkerState[] = [
  "failed",
  "crash_looping",
  "backing_off",
  "stopping",
  "starting",
  "stopped",
  "ready",
];

export function worstStatusOf(statuses: readonly ProcessStatus[]): ProcessStatus {
  for (const state of WORST_FIRST) {
    const found = statuses.find((status) => status.state === state);
    if (found !== undefined) return found;
  }
  return { state: "stopped", reason: undefined };
}
