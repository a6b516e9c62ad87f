import { MAX_TIMEOUT_MS } from "@svc-runtime/protocol";
import type { Worker } from "@svc-runtime/sdk";
import { Command } from "commander";
import { listCronTriggers } from "../cron-triggers.ts";
import { didYouMean } from "../did-you-mean.ts";
import { cancellable } from "../engine/call-progress.ts";
import { askEngine } from "../engine/engine-request.ts";
import { CommandFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { formatResult } from "../terminal/json-format.ts";
import { allOptions, type EngineOptions, jsonOption, wholeNumber, withEngineOptions } from "./options.ts";

const DEFAULT_TIMEOUT_MS = 600_000;

interface RunOptions extends EngineOptions {
  readonly timeoutMs: number;
  readonly json?: true;
}

interface Run {
  readonly function_id: string;
  readonly outcome: string | null;
  readonly error?: string;
}

/** `svc cron run`: runs the function of one schedule now. */
export function cronRunCommand(shell: Shell): Command {
  const command = new Command("run")
    .summary("run a schedule now")
    .description(
      "Run a trigger of type cron now, even if it is paused, and wait until the run ends. Exits with 1 if the run fails.",
    )
    .argument(
      "<function>",
      "function of the trigger, or the trigger's id or its first characters, as shown by `svc cron list`",
    )
    .option(
      "--timeout-ms <n>",
      "how long to wait for the run, in milliseconds",
      wholeNumber(1, MAX_TIMEOUT_MS),
      DEFAULT_TIMEOUT_MS,
    )
    .addOption(jsonOption("print the run as JSON, with the function's result"))
    .addHelpText("after", "\nExamples:\n  svc cron run report::nightly\n  svc cron run report::nightly --json\n");
  return withEngineOptions(command).action((name: string, own: RunOptions) =>
    runNow(shell, command, name, allOptions(own, command)),
  );
}

async function runNow(shell: Shell, command: Command, name: string, options: RunOptions): Promise<void> {
  const result = await askEngine(shell, { command, options, access: "changes" }, async (engine) => {
    const payload = JSON.stringify({ trigger_id: await triggerIdOf(engine, name) });
    const call = { function_id: "cron::trigger_now", payload, timeoutMs: options.timeoutMs };
    return cancellable(shell, `Running ${name}`, (signal) => engine.callJson({ ...call, signal }));
  });
  if (options.json) shell.out(`${formatResult(result, shell.outColumns)}\n`);
  const { function_id, outcome, error } = JSON.parse(result) as Run;
  if (outcome === "error") throw new CommandFailure(`The run of ${function_id} failed: ${error ?? "no reason given"}`);
  if (outcome === "skipped")
    throw new CommandFailure(
      `The run of ${function_id} was skipped: ${error ?? "another run is in progress, and the trigger's overlap is skip"}.`,
    );
  shell.note(`${shell.paint.green(outcome === "enqueued" ? "Enqueued" : "Ran")} ${function_id}\n`);
}

async function triggerIdOf(engine: Worker, name: string): Promise<string> {
  const triggers = await listCronTriggers(engine);
  const exact = triggers.find(({ trigger_id }) => trigger_id === name);
  if (exact !== undefined) return exact.trigger_id;
  const matching = triggers.filter(
    ({ trigger_id, function_id }) => function_id === name || trigger_id.startsWith(name),
  );
  const [only, ...others] = matching;
  if (only !== undefined && others.length === 0) return only.trigger_id;
  if (only !== undefined) {
    throw new CommandFailure(`${name} matches several triggers; give the id of one:`, {
      advice: matching.map(
        ({ trigger_id, function_id, expression }) => `  ${trigger_id}  ${function_id}  ${expression}`,
      ),
    });
  }
  const known = triggers.flatMap(({ trigger_id, function_id }) => [function_id, trigger_id]);
  throw new CommandFailure(`There is no trigger of type cron ${name}${(await didYouMean(name, known)) || "."}`, {
    advice: ["See: svc cron list"],
  });
}
