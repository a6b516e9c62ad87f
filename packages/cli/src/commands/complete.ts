import { Argument, Command } from "commander";
import { namesOf } from "../completion/names.ts";
import { NAMED, type Named } from "../completion/places.ts";
import { engineAddress } from "../engine/engine-address.ts";
import { withEngine } from "../engine/engine-session.ts";
import type { Shell } from "../shell.ts";
import { allOptions, type EngineOptions, withEngineOptions } from "./options.ts";

/** Time limit for the whole command, in milliseconds. Short, because the user waits after pressing Tab. */
const DEADLINE_MS = 2_000;

/**
 * `svc __complete`: lists names for completion scripts, one per line. If the engine does not respond in time, prints
 * nothing, not even an error.
 */
export function completeCommand(shell: Shell): Command {
  const command = new Command("__complete")
    .description("List names for the scripts of `svc completion`.")
    .addArgument(new Argument("<kind>", "kind of names").choices(NAMED))
    .argument("[before]", "word before them on the command line");
  return withEngineOptions(command).action((kind: Named, before: string | undefined, own: EngineOptions) =>
    printNames(shell, { kind, before: before ?? "", options: allOptions(own, command) }),
  );
}

interface Wanted {
  readonly kind: Named;
  readonly before: string;
  readonly options: EngineOptions;
}

async function printNames(shell: Shell, { kind, before, options }: Wanted): Promise<void> {
  const names = await withinDeadline(async () =>
    withEngine(engineAddress(shell, options), "svc completion", (engine) => namesOf(engine, kind, before)),
  );
  shell.out(names.map((name) => `${name}\n`).join(""));
}

async function withinDeadline(list: () => Promise<readonly string[]>): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly string[]>((settle) => {
    timer = setTimeout(() => settle([]), DEADLINE_MS);
  });
  try {
    // Errors are not shown, because the user is still typing.
    return await Promise.race([list().catch((): readonly string[] => []), late]);
  } finally {
    clearTimeout(timer);
  }
}
