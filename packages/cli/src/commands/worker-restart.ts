import type { Command } from "commander";
import type { Shell } from "../shell.ts";
import { steeringCommand } from "./worker-steering-command.ts";

/** `svc worker restart`: stops workers of the engine's config file and starts them again. */
export function workerRestartCommand(shell: Shell): Command {
  return steeringCommand(shell, "restart", {
    summary: "restart workers",
    description:
      "Stop workers of the engine's config file, one after another, start each again and wait until it is ready. Dependencies that changed are installed first.",
    noWait: "do not wait until they are ready",
    examples: ["svc worker restart math-worker", "svc worker restart math-worker caller-worker", "svc worker restart --all"],
  });
}
