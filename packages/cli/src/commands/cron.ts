import { Command } from "commander";
import type { Shell } from "../shell.ts";
import { cronListCommand } from "./cron-list.ts";
import { cronRunCommand } from "./cron-run.ts";

/** `svc cron`: lists and runs schedules. */
export function cronCommand(shell: Shell): Command {
  return new Command("cron")
    .summary("list schedules or run one now")
    .description("List the schedules of svc-cron, or run one now.")
    .addCommand(cronListCommand(shell))
    .addCommand(cronRunCommand(shell))
    .addHelpText("after", "\nExamples:\n  svc cron list\n  svc cron run report::nightly\n");
}
