import type { Command } from "commander";
import type { Shell } from "../shell.ts";
import { steeringCommand } from "./worker-steering-command.ts";

/** `svc worker stop`: ends workers, which stay in the config file. */
export function workerStopCommand(shell: Shell): Command {
  return steeringCommand(shell, "stop", {
    summary: "stop workers, which stay in the config file",
    description:
      "Stop workers of the engine's config file and wait until their processes are gone: they are asked to end, and killed after 10 seconds. They stay stopped until `svc worker start`, or until the engine is started again.",
    noWait: "do not wait until they have ended",
    examples: ["svc worker stop math-worker", "svc worker stop math-worker caller-worker", "svc worker stop --all"],
  });
}
