import { CallError } from "@svc/protocol";
import { CommandFailure, EXIT, type ExitCode } from "./exit-codes.ts";
import { escapeUnprintableLines } from "./log-lines.ts";
import type { Shell } from "./shell.ts";

/** Writes what went wrong in words for people, with nothing in them that would steer the terminal, and answers the exit status for it. Undefined, and nothing written, for what is neither a failure nor an answer of the engine: that is a defect. */
export function noteFailure(shell: Shell, error: unknown): ExitCode | undefined {
  if (error instanceof CommandFailure) {
    const [first, ...advice] = [error.message, ...error.advice].filter((line) => line !== "");
    if (first !== undefined) shell.note(`${shell.paint.red("error:")} ${escapeUnprintableLines([first, ...advice].join("\n"))}\n`);
    return error.exitCode;
  }
  // What the engine refused or could not do; its message is for people.
  if (CallError.is(error)) {
    shell.note(`${shell.paint.red("error:")} ${escapeUnprintableLines(error.message)} ${shell.paint.dim(`(${error.code})`)}\n`);
    return EXIT.failed;
  }
  return undefined;
}
