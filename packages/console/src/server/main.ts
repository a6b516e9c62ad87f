import { Command, CommanderError } from "commander";
import { CONSOLE_VERSION, startConsole } from "./console-server.ts";
import { addConsoleOptions, readConsoleOptions, UsageError } from "./options.ts";

/**
 * Runs `svc-console`. Resolves to the exit code: 0 if it was stopped by a signal, 1 for a failure, 2 for a usage error.
 */
export async function main(args: readonly string[], process: NodeJS.Process): Promise<number> {
  const command = addConsoleOptions(
    new Command("svc-console")
      .description("Web console of a running svc engine.")
      .version(CONSOLE_VERSION, "-v, --version", "print the version"),
  );
  command.exitOverride().configureOutput({
    writeOut: (text) => process.stdout.write(text),
    writeErr: (text) => process.stderr.write(text),
  });
  try {
    command.parse(args, { from: "user" });
    const stopped = stopRequest(process, command.opts<{ readonly stopWithStdin?: true }>().stopWithStdin === true);
    const running = await startConsole(readConsoleOptions(command, process.env));
    process.stderr.write(`The console is at ${running.url}/workers\n`);
    await stopped;
    await running.close();
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(
      `error: ${(error as Error).message}\n${isOfPort(error) ? "Another port: svc-console --port <port>\n" : ""}`,
    );
    return error instanceof UsageError ? 2 : 1;
  }
}

/** Returns true for an error about the console's port. The command then suggests another port. */
function isOfPort(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && (cause.code === "EADDRINUSE" || cause.code === "EACCES");
}

/** Resolves at the first request to stop. After that, signals have their default effect. */
function stopRequest(process: NodeJS.Process, withStdin: boolean): Promise<void> {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  return new Promise((resolve) => {
    const stop = (): void => {
      for (const signal of signals) process.off(signal, stop);
      resolve();
    };
    for (const signal of signals) process.on(signal, stop);
    if (withStdin) process.stdin.once("end", stop).once("close", stop).resume();
  });
}
