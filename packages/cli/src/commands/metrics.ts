import { Command } from "commander";
import type { Shell } from "../shell.ts";
import { metricsTopCommand } from "./metrics-top.ts";

/** `svc metrics`: shows the metrics of svc-observability. */
export function metricsCommand(shell: Shell): Command {
  return new Command("metrics")
    .summary("show calls, errors and durations of functions")
    .description("Show the metrics that the engine keeps about calls.")
    .addCommand(metricsTopCommand(shell))
    .addHelpText("after", "\nExamples:\n  svc metrics top\n  svc metrics top --watch --window 1m\n");
}
