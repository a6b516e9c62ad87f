import { Command } from "commander";
import { askEngine } from "../engine-request.ts";
import { onQueue } from "../queue-names.ts";
import type { Shell } from "../shell.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface RedriveOptions extends EngineOptions {
  readonly json?: true;
}

/** `svc queue redrive`: puts dead letters back on their queue. */
export function queueRedriveCommand(shell: Shell): Command {
  const command = new Command("redrive")
    .summary("put dead letters back on their queue")
    .description(
      "Put dead letters back on their queue, with all their attempts before them: those that are named, or every one. Named ones are put back all or none.",
    )
    .argument("<queue>", "queue whose dead letters to put back")
    .argument("[jobs...]", "ids of the dead letters; default: every one of the queue")
    .addOption(jsonOption("print how many were put back as JSON"))
    .addHelpText("after", "\nExamples:\n  svc queue redrive default\n  svc queue redrive default 0197a3c2-5b1e-4b0e-9d8f-2f6d1c0a9b7e\n");
  return withEngineOptions(command).action((queue: string, jobs: readonly string[], own: RedriveOptions) =>
    redrive(shell, command, { queue, jobs, options: allOptions(own, command) }),
  );
}

interface Redrive {
  readonly queue: string;
  readonly jobs: readonly string[];
  readonly options: RedriveOptions;
}

async function redrive(shell: Shell, command: Command, { queue, jobs, options }: Redrive): Promise<void> {
  const payload = { queue, ...(jobs.length === 0 ? {} : { job_ids: jobs }) };
  const { redriven } = await askEngine(shell, { command, options, access: "changes" }, (engine) =>
    onQueue(engine, queue, () => engine.call<{ readonly redriven: number }>({ function_id: "queue::redrive", payload })),
  );
  if (options.json) shell.out(`${JSON.stringify({ queue, redriven })}\n`);
  shell.note(redriven === 0 ? `${queue} has no dead letters.\n` : `${shell.paint.green("Put back")} ${redriven} job${redriven === 1 ? "" : "s"} of ${queue}\n`);
}
