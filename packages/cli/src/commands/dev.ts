import { Command } from "commander";
import { projectConfigFile } from "../engine-address.ts";
import type { Shell } from "../shell.ts";
import { typedWords } from "../typed-command.ts";
import { requireConfigFile } from "./engine.ts";
import { configOption, parsePort } from "./options.ts";

interface DevCommandOptions {
  readonly config?: string;
  readonly bridgePort?: number;
  readonly httpPort?: number;
  readonly wsPort?: number;
  readonly consolePort?: number;
  readonly logLevel?: string;
  readonly console: boolean;
  readonly open?: true;
}

/** `svc dev`: engine, workers and console in one terminal. */
export function devCommand(shell: Shell): Command {
  return new Command("dev")
    .summary("run the engine, its workers and the console in one terminal")
    .description(
      "Run the engine, the workers of its config file and the console in one terminal, with what each of them writes under its name. Ctrl-C ends all of it. On a terminal keys do more: r restarts the workers, o opens the console, h helps, q quits.",
    )
    .addOption(configOption("config file of the engine"))
    .option("--bridge-port <port>", "port for workers, over the config file's (default: 49134)", parsePort)
    .option("--http-port <port>", "port of the HTTP API, over the config file's (default: 3111)", parsePort)
    .option("--ws-port <port>", "port of the real-time WebSocket, over the config file's (default: 3112)", parsePort)
    .option("--console-port <port>", "port of the console (default: 3113)", parsePort)
    .option("--log-level <level>", "least level that the engine logs: debug, info, warn or error, over the config file's (default: info)")
    .option("--no-console", "without the console")
    .option("--open", "open the console in the browser")
    .addHelpText(
      "after",
      "\nExamples:\n  svc dev\n  svc dev --config config.yaml --open\n  svc dev --http-port 3121 --ws-port 3122 --bridge-port 29134 --console-port 3123\n",
    )
    .action((options: DevCommandOptions, command: Command) =>
      dev(shell, { ...options, ...command.optsWithGlobals<{ config?: string }>() }, typedWords(command)),
    );
}

async function dev(shell: Shell, options: DevCommandOptions, typed: readonly string[]): Promise<void> {
  const configFile = projectConfigFile(shell, options.config);
  requireConfigFile(configFile, options);
  // Loaded here and not above: the other commands have no use for it.
  const { runDev } = await import("../dev/run-dev.ts");
  const flag = (name: string, value: string | number | undefined): readonly string[] => (value === undefined ? [] : [name, String(value)]);
  const askedAs = ["--asked-as", JSON.stringify(typed)];
  await runDev(shell, {
    configFile,
    engineFlags: [
      ...askedAs,
      ...flag("--bridge-port", options.bridgePort),
      ...flag("--http-port", options.httpPort),
      ...flag("--ws-port", options.wsPort),
      ...flag("--log-level", options.logLevel),
    ],
    consoleFlags: [...askedAs, ...flag("--port", options.consolePort)],
    withConsole: options.console,
    open: options.open ?? false,
  });
}
