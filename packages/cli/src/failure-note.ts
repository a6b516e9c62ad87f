import { CallError } from "@svc-runtime/protocol";
import { CommandFailure, EXIT, type ExitCode } from "./exit-codes.ts";
import { escapeUnprintableLines } from "./logs/log-lines.ts";
import type { Shell } from "./shell.ts";
import { headed, inWholeWords } from "./terminal/word-wrap.ts";

/**
 * Prints an error for the user, with control characters escaped, and returns the exit status. Prints nothing and
 * returns undefined if the error is neither a CommandFailure nor a CallError, which means a bug.
 */
export function noteFailure(shell: Shell, error: unknown): ExitCode | undefined {
  if (error instanceof CommandFailure) {
    const [first, ...advice] = [error.message, ...error.advice].filter((line) => line !== "");
    if (first !== undefined)
      shell.note(
        `${[...errorLines(shell, escapeUnprintableLines(first)), ...advice.flatMap((line) => inWholeWords(escapeUnprintableLines(line), shell.noteColumns))].join("\n")}\n`,
      );
    return error.exitCode;
  }
  // The engine rejected the call, or the call failed. Its message is for the user.
  if (CallError.is(error)) {
    shell.note(
      `${errorLines(shell, `${escapeUnprintableLines(error.message)} ${shell.paint.dim(`(${error.code})`)}`).join("\n")}\n`,
    );
    return EXIT.failed;
  }
  return undefined;
}

function errorLines({ paint, noteColumns }: Shell, message: string): readonly string[] {
  return headed(paint.red("error:"), message, noteColumns);
}
