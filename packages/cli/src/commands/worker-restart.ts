import type { Command } from "commander";
import type { Shell } from "../shell.ts";
import { steeringCommand } from "./worker-steering-command.ts";

/** `svc worker restart`: replaces the processes of workers of the engine's config file. */
export function workerRestartCommand(shell: Shell): Command {
  return steeringCommand(shell, "restart", {
    summary: "restart workers",
    description:
      "Restart workers of the engine's config file, one after another, and wait until each is ready. A worker serves until its new process is ready. It is stopped first if dependencies have to be installed, or if its entry says `restart_order: stop_first`. Commands of svc-exec are always stopped first.",
    noWait: "do not wait until they are ready",
    examples: ["svc worker restart math-worker", "svc worker restart math-worker caller-worker", "svc worker restart --all"],
  });
}
