import { Command } from "commander";
import type { Shell } from "../shell.ts";
import { eventEmitCommand } from "./event-emit.ts";

/** `svc event`: events by topic. */
export function eventCommand(shell: Shell): Command {
  return new Command("event")
    .summary("publish events")
    .description("Publish events to the functions that listen to their topic (svc-event).")
    .addCommand(eventEmitCommand(shell))
    .addHelpText("after", "\nExamples:\n  svc event emit orders.created id=7\n");
}
