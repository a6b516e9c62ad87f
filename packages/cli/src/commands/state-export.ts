import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { Command } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { CommandFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { allOptions, type EngineOptions, withEngineOptions } from "./options.ts";

interface ExportOptions extends EngineOptions {
  readonly prefix?: string;
  readonly file?: string;
}

/** `svc state export`: writes items as NDJSON. */
export function stateExportCommand(shell: Shell): Command {
  const command = new Command("export")
    .summary("write items as lines of JSON")
    .description(
      "Write the items of all scopes, or of one, as NDJSON: one JSON object for each item with scope, key, value, version, time of the last change and expiry time. `svc state import` reads it.",
    )
    .argument("[scope]", "scope to export (default: all scopes)")
    .option("--prefix <text>", "only keys with this prefix")
    .option("--file <file>", "file to write (default: standard output)")
    .addHelpText(
      "after",
      "\nExamples:\n  svc state export --file state.ndjson\n  svc state export users --prefix a | jq .value\n",
    );
  return withEngineOptions(command).action((scope: string | undefined, own: ExportOptions) =>
    exportItems(shell, command, scope, allOptions(own, command)),
  );
}

async function exportItems(
  shell: Shell,
  command: Command,
  scope: string | undefined,
  options: ExportOptions,
): Promise<void> {
  const { prefix, file } = options;
  let count = 0;
  await askEngine(shell, { command, options, access: "reads" }, async (engine) => {
    async function* lines(): AsyncGenerator<string> {
      for await (const line of engine.state.exportLines({ scope, prefix })) {
        count++;
        yield `${line}\n`;
      }
    }
    if (file === undefined) for await (const line of lines()) shell.out(line);
    else await writeWhole(resolve(shell.cwd, file), lines(), file);
  });
  shell.note(`${shell.paint.green("Exported")} ${count} item${count === 1 ? "" : "s"}\n`);
}

/**
 * Writes a temporary file beside the target first, so that a failed export does not change the previous file. Only the
 * user may read the file.
 */
async function writeWhole(path: string, lines: AsyncIterable<string>, shown: string): Promise<void> {
  const draft = `${path}.${randomUUID()}.part`;
  try {
    await pipeline(lines, createWriteStream(draft, { mode: 0o600, flags: "wx" }));
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    const { code, message } = error as NodeJS.ErrnoException;
    // Only error codes of the operating system have this form. Codes of the engine are in lower case, and Node's other
    // codes contain underscores.
    if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) throw error;
    throw new CommandFailure(`${shown} cannot be written: ${message}`, { cause: error });
  }
}
