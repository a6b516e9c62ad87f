import type { Command } from "commander";
import type { Shell } from "../shell.ts";
import { steeringCommand } from "./worker-steering-command.ts";

/** `svc worker start`: starts what was stopped, or does not start by itself any more. */
export function workerStartCommand(shell: Shell): Command {
  return steeringCommand(shell, "start", {
    summary: "start workers that were stopped, or that failed",
    description:
      "Start workers of the engine's config file that were stopped, and those that failed or are crash-looping without waiting any longer, and wait until they are ready. One that runs is left as it is.",
    noWait: "do not wait until they are ready",
    examples: ["svc worker start math-worker", "svc worker start math-worker caller-worker", "svc worker start --all"],
  });
}
