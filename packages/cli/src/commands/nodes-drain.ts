import type { NodeListing } from "@svc-runtime/protocol/listings";
import { Command } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { listNodes } from "../engine/listings.ts";
import { CommandFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { allOptions, type EngineOptions, jsonOption, wholeNumber, withEngineOptions } from "./options.ts";

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 3_600_000;
/**
 * Time that the command waits after the time limit of the engine, in milliseconds. At that limit the engine disconnects
 * the remaining workers.
 */
const LATE_MS = 10_000;
const LOOK_EVERY_MS = 200;

interface DrainOptions extends EngineOptions {
  readonly timeoutMs: number;
  readonly force?: true;
  readonly json?: true;
}

/** `svc nodes drain`: moves an engine's workers to the other engines, and waits until the engine has no workers. */
export function nodesDrainCommand(shell: Shell): Command {
  const command = new Command("drain")
    .summary("give an engine's workers to the others, before it is stopped")
    .description(
      "Give the workers and clients of an engine of the cluster to the other engines, and wait until none is connected to it. It takes no new calls and jobs and finishes those in flight; calls that still arrive there go to the other engines. Workers that know no other engine are disconnected until `svc nodes undrain` or a restart of the engine.",
    )
    .argument("<node>", "name of the engine, as shown by `svc nodes`")
    .option(
      "--timeout-ms <n>",
      "how long calls in flight may take; then their workers are disconnected and they fail, in milliseconds",
      wholeNumber(0, MAX_TIMEOUT_MS),
      DEFAULT_TIMEOUT_MS,
    )
    .option("--force", "drain it also if no other engine is up, so that the functions of its workers cannot be called")
    .addOption(jsonOption("print the engine as JSON"))
    .addHelpText("after", "\nExamples:\n  svc nodes drain a\n  svc nodes drain a --timeout-ms 120000\n");
  return withEngineOptions(command).action(async (node: string, own: DrainOptions) => {
    const options = allOptions(own, command);
    const { timeoutMs, force = false } = options;
    const drained = await askEngine(shell, { command, options, access: "changes" }, async (engine) => {
      const run = (await listNodes(engine)).find(({ name }) => name === node)?.run;
      await engine.call({ function_id: "engine::nodes::drain", payload: { node, timeout_ms: timeoutMs, force } });
      return untilDrained(() => listNodes(engine), { name: node, run }, timeoutMs + LATE_MS);
    });
    if (options.json) shell.out(`${JSON.stringify(drained)}\n`);
    shell.note(`${shell.paint.green("Drained")} ${node}\n`);
  });
}

/** `svc nodes undrain`: lets workers connect to a drained engine again. */
export function nodesUndrainCommand(shell: Shell): Command {
  const command = new Command("undrain")
    .summary("let workers connect to a drained engine again")
    .description(
      "Let workers connect to a drained engine of the cluster again. Those that went to other engines stay there. A restart of the engine does the same.",
    )
    .argument("<node>", "name of the engine, as shown by `svc nodes`")
    .addOption(jsonOption("print the engine's name as JSON"))
    .addHelpText("after", "\nExamples:\n  svc nodes undrain a\n");
  return withEngineOptions(command).action(async (node: string, own: Omit<DrainOptions, "timeoutMs">) => {
    const options = allOptions(own, command);
    await askEngine(shell, { command, options, access: "changes" }, (engine) =>
      engine.call({ function_id: "engine::nodes::undrain", payload: { node } }),
    );
    if (options.json) shell.out(`${JSON.stringify({ node })}\n`);
    shell.note(`${shell.paint.green("Undrained")} ${node}\n`);
  });
}

/**
 * Waits until the engine is drained. `run` identifies the engine's run at the time of the request. Throws a
 * CommandFailure if the engine is gone, is no longer draining, or is not drained within `withinMs`.
 */
export async function untilDrained(
  list: () => Promise<readonly NodeListing[]>,
  { name, run }: { readonly name: string; readonly run: string | undefined },
  withinMs: number,
): Promise<NodeListing> {
  const givenUpAt = performance.now() + withinMs;
  for (;;) {
    const node = (await list()).find((each) => each.name === name);
    if (node?.state === "drained") return node;
    if (node === undefined || node.state === "gone") throw new CommandFailure(`Engine ${name} is gone`);
    if (node.state === "up")
      throw new CommandFailure(
        `Engine ${name} is no longer draining: it ${node.run === run ? "was undrained" : "has restarted"}`,
      );
    if (performance.now() >= givenUpAt)
      throw new CommandFailure(`Engine ${name} is not drained yet: its state is ${node.state}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
