import type { WorkerState } from "./worker-functions.ts";

/** Green runs, yellow is on its way, red needs somebody. */
export function stateColor(state: WorkerState): "green" | "yellow" | "red" | "dim" {
  if (state === "ready") return "green";
  if (state === "stopped") return "dim";
  return state === "failed" || state === "crash_looping" ? "red" : "yellow";
}
