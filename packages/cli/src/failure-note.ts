import { CallError } from "@svc/protocol";
import { CommandFailure, EXIT, type ExitCode } from "./exit-codes.ts";
import { escapeUnprintableLines } from "./log-lines.ts";
import type { Shell } from "./shell.ts";
import { headed, inWholeWords } from "./word-wrap.ts";

/** Writes what went wrong in words for people, with nothing in them that would steer the terminal, and answers the exit status for it. Undefined, and nothing written, for what is neither a failure nor an answer of the engine: that is a defect. */
export function noteFailure(shell: Shell, error: unknown): ExitCode | undefined {
  if (error instanceof CommandFailure) {
    const [first, ...advice] = [error.message, ...error.advice].filter((line) => line !== "");
    if (first !== undefined)
      shell.note(
        `${[...failure(shell, escapeUnprintableLines(first)), ...advice.flatMap((line) => inWholeWords(escapeUnprintableLines(line), shell.noteColumns))].join("\n")}\n`,
      );
    return error.exitCode;
  }
  // What the engine refused or could not do; its message is for people.
  if (CallError.is(error)) {
    shell.note(`${failure(shell, `${escapeUnprintableLines(error.message)} ${shell.paint.dim(`(${error.code})`)}`).join("\n")}\n`);
    return EXIT.failed;
  }
  return undefined;
}

function failure({ paint, noteColumns }: Shell, message: string): readonly string[] {
  return headed(paint.red("error:"), message, noteColumns);
}
