import { Command } from "commander";
import { projectConfigFile } from "../engine/engine-address.ts";
import type { Shell } from "../shell.ts";
import { typedWords } from "../typed-command.ts";
import { requireConfigFile } from "./engine.ts";
import { configOption, parsePort, quietIdsOption, wholeNumber } from "./options.ts";

interface DevCommandOptions {
  readonly config?: string;
  readonly bridgePort?: number;
  readonly httpPort?: number;
  readonly wsPort?: number;
  readonly consolePort?: number;
  readonly cluster?: number;
  readonly logLevel?: string;
  readonly console: boolean;
  readonly open?: true;
  readonly quietIds?: true;
}

/** `svc dev`: runs engine, workers and console in one terminal. */
export function devCommand(shell: Shell): Command {
  return new Command("dev")
    .summary("run the engine, its workers and the console in one terminal")
    .description(
      "Run the engine, the workers of its config file and the console in one terminal, and prefix each line of output with its source. Ctrl-C stops everything. On a terminal there are keys: r restarts the workers, o opens the console, h shows help, q quits.",
    )
    .addOption(configOption("config file of the engine"))
    .option(
      "--cluster <n>",
      "run a cluster: n engines (3 to 9) and three NATS servers, with the workers spread over the engines; needs nats-server",
      wholeNumber(3, 9),
    )
    .option("--bridge-port <port>", "port for workers; overrides the config file (default: 49134)", parsePort)
    .option("--http-port <port>", "port of the HTTP API; overrides the config file (default: 3111)", parsePort)
    .option("--ws-port <port>", "port of the real-time WebSocket; overrides the config file (default: 3112)", parsePort)
    .option("--console-port <port>", "port of the console (default: 3113)", parsePort)
    .option(
      "--log-level <level>",
      "minimum level that the engine logs: debug, info, warn or error; overrides the config file (default: info)",
    )
    .option("--no-console", "do not start the console")
    .option("--open", "open the console in the browser")
    .addOption(quietIdsOption())
    .addHelpText(
      "after",
      "\nExamples:\n  svc dev\n  svc dev --config config.yaml --open\n  svc dev --cluster 3\n  svc dev --http-port 3121 --ws-port 3122 --bridge-port 29134 --console-port 3123\n",
    )
    .action((options: DevCommandOptions, command: Command) =>
      dev(shell, { ...options, ...command.optsWithGlobals<{ config?: string }>() }, typedWords(command)),
    );
}

async function dev(shell: Shell, options: DevCommandOptions, typed: readonly string[]): Promise<void> {
  const configFile = projectConfigFile(shell, options.config);
  requireConfigFile(configFile, options);
  // Imported lazily: other commands do not need it.
  const { runDev } = await import("../dev/run-dev.ts");
  const flag = (name: string, value: string | number | undefined): readonly string[] =>
    value === undefined ? [] : [name, String(value)];
  const askedAs = ["--asked-as", JSON.stringify(typed)];
  await runDev(shell, {
    configFile,
    ports: { bridge: options.bridgePort, http: options.httpPort, realtime: options.wsPort },
    cluster: options.cluster,
    engineFlags: [...askedAs, ...flag("--log-level", options.logLevel)],
    consoleFlags: [...askedAs, ...flag("--port", options.consolePort)],
    withConsole: options.console,
    open: options.open ?? false,
    quietIds: options.quietIds ?? false,
  });
}
