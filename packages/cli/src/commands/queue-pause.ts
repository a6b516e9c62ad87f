import { Command } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { withQueue } from "../queues/queues.ts";
import type { Shell } from "../shell.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface PauseOptions extends EngineOptions {
  readonly json?: true;
}

/** `svc queue pause`: stops a queue from running jobs. */
export function queuePauseCommand(shell: Shell): Command {
  return switchCommand(shell, "pause", {
    summary: "pause a queue",
    description:
      "Start no more jobs of a queue until `svc queue resume`, also after a restart of the engine. Running jobs continue, and the queue still accepts jobs.",
    done: "Paused",
  });
}

/** `svc queue resume`: lets a paused queue run jobs. */
export function queueResumeCommand(shell: Shell): Command {
  return switchCommand(shell, "resume", {
    summary: "resume a paused queue",
    description: "Run the jobs of a paused queue again.",
    done: "Resumed",
  });
}

function switchCommand(
  shell: Shell,
  action: "pause" | "resume",
  texts: { readonly summary: string; readonly description: string; readonly done: string },
): Command {
  const command = new Command(action)
    .summary(texts.summary)
    .description(texts.description)
    .argument("<queue>", `queue to ${action}`)
    .addOption(jsonOption("print whether the queue is paused as JSON"))
    .addHelpText("after", `\nExamples:\n  svc queue ${action} default\n`);
  return withEngineOptions(command).action(async (queue: string, own: PauseOptions) => {
    const options = allOptions(own, command);
    await askEngine(shell, { command, options, access: "changes" }, (engine) =>
      withQueue(engine, queue, () => engine.call({ function_id: `queue::${action}`, payload: { queue } })),
    );
    if (options.json) shell.out(`${JSON.stringify({ queue, paused: action === "pause" })}\n`);
    shell.note(`${shell.paint.green(texts.done)} ${queue}\n`);
  });
}
