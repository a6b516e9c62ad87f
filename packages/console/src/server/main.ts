import { Command, CommanderError } from "commander";
import { CONSOLE_VERSION, startConsole } from "./console-server.ts";
import { addConsoleOptions, readConsoleOptions } from "./options.ts";

/** `svc-console`. Resolves with the exit code: 0 stopped by a signal, 1 failed, 2 wrong usage. */
export async function main(args: readonly string[], process: NodeJS.Process): Promise<number> {
  const command = addConsoleOptions(
    new Command("svc-console").description("See and drive a running svc engine from the browser.").version(CONSOLE_VERSION, "-v, --version"),
  );
  command.exitOverride().configureOutput({ writeOut: (text) => process.stdout.write(text), writeErr: (text) => process.stderr.write(text) });
  try {
    command.parse(args, { from: "user" });
    const running = await startConsole(readConsoleOptions(command, process.env));
    process.stderr.write(`The console is at ${running.url}/workers\n`);
    await new Promise<void>((resolve) => {
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
    });
    await running.close();
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`error: ${(error as Error).message}\n`);
    return error instanceof TypeError ? 2 : 1;
  }
}
