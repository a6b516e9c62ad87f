import { CommanderError } from "commander";
import { UnknownCommand } from "./commands/unknown-command.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { noteFailure } from "./failure-note.ts";
import { buildProgram } from "./program.ts";
import { processShell, type Shell } from "./shell.ts";

/** Runs one command line, e.g. `["trigger", "--function-id=math::add"]`, and answers the exit status. Never rejects. */
export async function run(args: readonly string[], shell: Shell): Promise<ExitCode> {
  try {
    await buildProgram(shell).parseAsync(args, { from: "user" });
    return EXIT.done;
  } catch (error) {
    return explain(error instanceof UnknownCommand ? await error.explained() : error, shell);
  }
}

/** Runs the command line of a process and ends the process with its status, once what was written is out. */
export async function runAsProcess(process: NodeJS.Process): Promise<never> {
  // What nobody caught is a defect: say so and end with the code for it, not with Node's 1, which means "failed".
  const crash = (error: unknown): never => {
    process.stderr.write(
      `internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\nThis is a defect of svc. Please report it with the lines above.\n`,
    );
    return process.exit(EXIT.internal);
  };
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
  const status = await run(process.argv.slice(2), processShell(process));
  await Promise.all([process.stdout, process.stderr].map((stream) => new Promise<void>((flushed) => stream.write("", () => flushed()))));
  process.exit(status);
}

function explain(error: unknown, shell: Shell): ExitCode {
  // Commander has written its message already; help and version are no errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  const status = noteFailure(shell, error);
  if (status !== undefined) return status;
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  shell.note(`${shell.paint.red("internal error:")} ${detail}\nThis is a defect of svc. Please report it with the lines above.\n`);
  return EXIT.internal;
}
