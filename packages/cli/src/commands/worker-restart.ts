import { Command } from "commander";
import { engineAddress } from "../engine-address.ts";
import { withEngine } from "../engine-session.ts";
import { requireOwnEngine } from "../project.ts";
import type { Shell } from "../shell.ts";
import { restartWorker } from "../worker-functions.ts";
import { waitForWorker } from "../worker-wait.ts";
import { configOption, urlOption } from "./options.ts";

interface RestartOptions {
  readonly wait: boolean;
  readonly url?: string;
  readonly config?: string;
}

/** `svc worker restart`: stops a worker of the engine's config file and starts it again. */
export function workerRestartCommand(shell: Shell): Command {
  return new Command("restart")
    .summary("restart a worker")
    .description("Stop a worker of the engine's config file, start it again and wait until it is ready.")
    .argument("<name>", "name of the worker, as `svc worker list` shows it")
    .option("--no-wait", "do not wait until the worker is ready")
    .addOption(urlOption())
    .addOption(configOption("config file to take the bridge port from"))
    .addHelpText("after", "\nExamples:\n  svc worker restart math-worker\n")
    .action((name: string, options: RestartOptions, command: Command) =>
      restart(shell, name, { ...options, ...command.optsWithGlobals<{ config?: string }>() }),
    );
}

async function restart(shell: Shell, name: string, options: RestartOptions): Promise<void> {
  const address = engineAddress(shell, options);
  await withEngine(address, "svc worker restart", async (engine) => {
    await requireOwnEngine(shell, engine, { address, config: options.config });
    await restartWorker(engine, name);
    shell.note(`Worker ${name} restarted\n`);
    if (!options.wait) return;
    const { functions } = await waitForWorker(shell, engine, { name, shownConfig: "the config file" });
    shell.note(`${shell.paint.green("Ready:")} ${functions.join(", ") || name}\n`);
  });
}
