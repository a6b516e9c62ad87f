import type { Command } from "commander";
import type { Shell } from "../shell.ts";
import { steeringCommand } from "./worker-steering-command.ts";

/** `svc worker update`: installs dependencies anew. */
export function workerUpdateCommand(shell: Shell): Command {
  return steeringCommand(shell, "update", {
    summary: "install the dependencies of workers again, and restart them",
    description:
      "Install the dependencies of workers again, whether or not they changed, restart the workers and wait until they are ready. A worker whose install fails runs on as it was.",
    noWait: "do not wait until they are installed and ready",
    examples: ["svc worker update math-worker", "svc worker update --all"],
  });
}
