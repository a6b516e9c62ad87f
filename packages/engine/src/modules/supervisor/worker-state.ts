export type WorkerState = "installing" | "starting" | "ready" | "replacing" | "stopping" | "stopped" | "backing_off" | "crash_looping" | "failed";

/** What a worker, or one process of it, is doing, and why where that is not plain. */
export interface Standing {
  readonly state: WorkerState;
  readonly reason: string | undefined;
}

/** A worker with several processes is as well off as the worst of them. */
const WORST_FIRST: readonly WorkerState[] = ["failed", "crash_looping", "backing_off", "stopping", "starting", "stopped", "ready"];

export function worstOf(standings: readonly Standing[]): Standing {
  for (const state of WORST_FIRST) {
    const found = standings.find((standing) => standing.state === state);
    if (found !== undefined) return found;
  }
  return { state: "stopped", reason: undefined };
}
