import { CommanderError } from "commander";
import { UnknownCommand } from "./commands/unknown-command.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { noteFailure } from "./failure-note.ts";
import { buildProgram } from "./program.ts";
import { processShell, type Shell } from "./shell.ts";

/** Runs one command line, e.g. `["trigger", "--function-id=math::add"]`, and returns the exit status. Never rejects. */
export async function run(args: readonly string[], shell: Shell): Promise<ExitCode> {
  try {
    await buildProgram(shell).parseAsync(args, { from: "user" });
    return EXIT.done;
  } catch (error) {
    return reportError(error instanceof UnknownCommand ? await error.explained() : error, shell);
  }
}

/** Runs the command line of a process, flushes its output and exits. */
export async function runAsProcess(process: NodeJS.Process): Promise<never> {
  // An uncaught error is a bug. Report it and exit with the status of a bug. Node would exit with 1, which means
  // "failed".
  const crash = (error: unknown): never => {
    process.stderr.write(
      `internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\nThis is a bug in svc. Please report it with the lines above.\n`,
    );
    return process.exit(EXIT.internal);
  };
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
  const status = await run(process.argv.slice(2), processShell(process));
  await Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise<void>((flushed) => stream.write("", () => flushed()))),
  );
  process.exit(status);
}

function reportError(error: unknown, shell: Shell): ExitCode {
  // Commander has already printed its message. Its errors for help and version have the exit status 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  const status = noteFailure(shell, error);
  if (status !== undefined) return status;
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  shell.note(
    `${shell.paint.red("internal error:")} ${detail}\nThis is a bug in svc. Please report it with the lines above.\n`,
  );
  return EXIT.internal;
}
