import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { Command, Option } from "commander";
import { askEngine } from "../engine-request.ts";
import { CommandFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

/** Maximum size of standard input, which is read as a whole. A file may have any size. */
const MAX_STDIN_BYTES = 256 * 1024 * 1024;

interface ImportOptions extends EngineOptions {
  readonly onExisting: "overwrite" | "skip" | "fail";
  readonly json?: true;
}

/** `svc state import`: stores items from NDJSON. */
export function stateImportCommand(shell: Shell): Command {
  const command = new Command("import")
    .summary("store items from lines of JSON")
    .description(
      "Store items from NDJSON as `svc state export` writes it. An item gets the version of its line, or the next one if its key has had that already; one with the same value keeps its own. Expired lines are skipped. The first invalid line ends the import; the lines before it are stored.",
    )
    .argument("<file>", "file to read; - for standard input")
    .addOption(
      new Option("--on-existing <how>", "what to do with a line whose item exists; fail stops the import")
        .choices(["overwrite", "skip", "fail"])
        .default("overwrite"),
    )
    .addOption(jsonOption("print the numbers of imported and skipped items as JSON"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc state import state.ndjson\n  svc state import state.ndjson --on-existing skip\n  svc state export users --url ws://other:49134 | svc state import -\n",
    );
  return withEngineOptions(command).action((file: string, own: ImportOptions) =>
    importItems(shell, command, file, allOptions(own, command)),
  );
}

async function importItems(shell: Shell, command: Command, file: string, options: ImportOptions): Promise<void> {
  const lines = file === "-" ? await linesOfStdin(shell) : await linesOfFile(resolve(shell.cwd, file), file);
  const { imported, skipped } = await askEngine(shell, { command, options, access: "changes" }, (engine) =>
    engine.state.import(lines(), { onExisting: options.onExisting }),
  );
  if (options.json) shell.out(`${JSON.stringify({ imported, skipped })}\n`);
  const rest = skipped === 0 ? "" : `, skipped ${skipped}`;
  shell.note(`${shell.paint.green("Imported")} ${imported} item${imported === 1 ? "" : "s"}${rest}\n`);
}

type Lines = () => Iterable<string> | AsyncIterable<string>;

async function linesOfStdin(shell: Shell): Promise<Lines> {
  const bytes = await shell.readStdin({ maxBytes: MAX_STDIN_BYTES });
  if (bytes === undefined)
    throw new CommandFailure(`Standard input is longer than ${MAX_STDIN_BYTES / 1024 / 1024} MiB; import a file.`);
  const lines = new TextDecoder().decode(bytes).split("\n");
  return () => lines;
}

/**
 * Reports a file that cannot be read before the engine is asked. The lines must be read at once when the function is
 * called, because readline drops those that nobody takes.
 */
async function linesOfFile(path: string, shown: string): Promise<Lines> {
  const handle = await open(path).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === "ENOENT" ? "there is no such file" : error.message;
    throw new CommandFailure(`${shown} cannot be read: ${why}`, { cause: error });
  });
  await handle.close();
  return () => createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
}
