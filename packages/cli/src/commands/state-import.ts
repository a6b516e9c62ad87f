import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { Command, Option } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { CommandFailure } from "../exit-codes.ts";
import { readFailure, utf8Text } from "../functions/json-input.ts";
import type { Shell } from "../shell.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

/** Maximum size of standard input, in bytes. It is limited because it is read as a whole. A file may have any size. */
const MAX_STDIN_BYTES = 256 * 1024 * 1024;
const LINE_FEED = 0x0a;

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

type Lines = () => AsyncIterable<string>;

async function linesOfStdin(shell: Shell): Promise<Lines> {
  const bytes = await shell.readStdin({ maxBytes: MAX_STDIN_BYTES });
  if (bytes === undefined)
    throw new CommandFailure(`Standard input is longer than ${MAX_STDIN_BYTES / 1024 / 1024} MiB; import a file.`);
  return () => linesOf([Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)], "standard input");
}

/** Opens the file once before the engine is called, so that a file that cannot be read is reported first. */
async function linesOfFile(path: string, shown: string): Promise<Lines> {
  const handle = await open(path).catch((error: unknown) => {
    throw readFailure(shown, error);
  });
  await handle.close();
  return () => linesOf(chunksOf(path, shown), shown);
}

async function* chunksOf(path: string, shown: string): AsyncGenerator<Buffer, void, void> {
  try {
    yield* createReadStream(path);
  } catch (error) {
    throw readFailure(shown, error);
  }
}

/**
 * Splits the text at line ends. Throws at a line that is not UTF-8. Does not use node:readline, because its iterator
 * does not report errors of the stream.
 */
async function* linesOf(chunks: AsyncIterable<Buffer> | Iterable<Buffer>, shown: string): AsyncGenerator<string> {
  let number = 1;
  let parts: Buffer[] = [];
  const line = (): string => utf8Text(Buffer.concat(parts), `Line ${number} of ${shown}`);
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      parts.push(chunk.subarray(start, end));
      yield line();
      parts = [];
      number += 1;
      start = end + 1;
    }
    parts.push(chunk.subarray(start));
  }
  yield line();
}
