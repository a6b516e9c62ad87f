import { Command } from "commander";
import type { Shell } from "../shell.ts";
import { cronListCommand } from "./cron-list.ts";
import { cronRunCommand } from "./cron-run.ts";

/** `svc cron`: what runs at set times. */
export function cronCommand(shell: Shell): Command {
  return new Command("cron")
    .summary("list schedules, and run one now")
    .description("List what runs at set times (svc-cron), and run one of it now.")
    .addCommand(cronListCommand(shell))
    .addCommand(cronRunCommand(shell))
    .addHelpText("after", "\nExamples:\n  svc cron list\n  svc cron run report::nightly\n");
}
