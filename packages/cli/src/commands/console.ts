import {
  addConsoleOptions,
  type ConsoleOptions,
  type FoundEngine,
  readConsoleOptions,
  UsageError,
} from "@svc-runtime/console/options";
import { Command } from "commander";
import { announcedEngine } from "../engine/announced-engine.ts";
import { engineAddress, listening, projectConfigFile } from "../engine/engine-address.ts";
import { freePortLike } from "../engine/free-port.ts";
import { findPortHolder } from "../engine/port-holder.ts";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { listenForStop } from "../stop-requests.ts";
import { openBrowser } from "../terminal/open-browser.ts";
import { askedAsOption, retyped, typedWords } from "../typed-command.ts";
import { configOption } from "./options.ts";

interface OwnOptions {
  readonly config?: string;
  readonly open: boolean;
  readonly stopWithStdin?: true;
  readonly askedAs?: readonly string[];
}

/** `svc console`: starts the console for the project's engine. */
export function consoleCommand(shell: Shell): Command {
  return addConsoleOptions(new Command("console"))
    .summary("start the web console")
    .description(
      "Start the console and open it in the browser. It connects to the engine of config.yaml (or SVC_URL) unless --engine-host and the ports are given, and waits until that engine runs.",
    )
    .addOption(configOption("config file of the engine"))
    .option("--no-open", "only print the address; without a terminal and a screen the browser is never opened")
    .addOption(askedAsOption())
    .addHelpText(
      "after",
      "\nExamples:\n  svc console\n  svc console --port 4000 --read-only\n  svc console --engine-host 10.0.0.5 --token-file ./token\n",
    )
    .action((options: OwnOptions, command: Command) =>
      runConsole(shell, command, { ...options, ...command.optsWithGlobals<{ config?: string }>() }),
    );
}

async function runConsole(shell: Shell, command: Command, options: OwnOptions): Promise<void> {
  const settings = await read(shell, command, options);
  const stop = listenForStop(shell, {
    stdin: options.stopWithStdin ? "stops" : "ignored",
    nowMs: () => performance.now(),
  });
  try {
    // Imported lazily: other commands do not need it.
    const { startConsole } = await import("@svc-runtime/console");
    const running = await startConsole({ ...settings, note: (line) => shell.note(`svc console: ${line}\n`) });
    const address = `${running.url}/workers`;
    shell.note(`The console is at ${address}\n`);
    if (options.open) openBrowser(address, shell);
    await stop.first;
    await running.close();
  } catch (error) {
    throw await explained(error, settings.port, options.askedAs ?? typedWords(command));
  } finally {
    stop.forget();
  }
}

async function read(shell: Shell, command: Command, options: OwnOptions): Promise<ConsoleOptions> {
  try {
    return readConsoleOptions(command, shell.env, await foundEngine(shell, command, options));
  } catch (error) {
    throw error instanceof UsageError ? usageFailure(`${error.message}.`) : error;
  }
}

/**
 * Finds the engine in the same way as other commands. If there are several engines, returns the first one that listens.
 * Returns undefined if a flag gives the host of the engine, or if only the default address remains.
 */
async function foundEngine(shell: Shell, command: Command, { config }: OwnOptions): Promise<FoundEngine | undefined> {
  if (command.getOptionValueSource("engineHost") === "cli") return undefined;
  const given = engineAddress(shell, { config });
  const found = given.further === undefined ? given : await listening(given);
  const address = typeof found === "string" ? given : found;
  if (address.from === "default") return undefined;
  const { hostname, port, protocol, password } = new URL(address.url);
  if (protocol === "wss:")
    throw new CommandFailure(
      `The engine at ${address.shownUrl} listens with TLS, which the console does not support yet.`,
    );
  // Both names mean this machine. The console connects to 127.0.0.1, which is the default of its flag.
  const engineHost = hostname === "localhost" ? "127.0.0.1" : hostname.replace(/^\[|\]$/g, "");
  const announced = address.from === "announced" ? announcedEngine(shell, projectConfigFile(shell, config)) : undefined;
  const token = address.token ?? (password === "" ? undefined : decodeURIComponent(password));
  const { prove } = address;
  const beforeConnect = prove === undefined ? undefined : async (): Promise<void> => void (await prove());
  return {
    engineHost,
    bridgePort: Number(port) || 80,
    enginePort: portOf(announced?.http),
    wsPort: portOf(announced?.realtime),
    token,
    beforeConnect,
  };
}

function portOf(url: string | undefined): number | undefined {
  return url === undefined ? undefined : Number(new URL(url).port) || 80;
}

async function explained(error: unknown, port: number, typed: readonly string[]): Promise<unknown> {
  if (error instanceof UsageError) return usageFailure(`${error.message}.`);
  if (!(error instanceof Error) || error instanceof TypeError) return error;
  const isInUse = error.cause instanceof Error && "code" in error.cause && error.cause.code === "EADDRINUSE";
  const holder = isInUse ? await findPortHolder(port) : undefined;
  const advice =
    holder === undefined
      ? []
      : [`Port ${port} is in use by process ${holder.pid}: ${holder.command}`, `Stop it with: kill ${holder.pid}`];
  // `svc dev` starts several listeners, so its flag for this port has another name.
  const flag = typed[1] === "dev" ? "--console-port" : "--port";
  if (isInUse) advice.push(`Or use another port: ${retyped(typed, flag, await freePortLike(port, typed.map(Number)))}`);
  return new CommandFailure(`The console failed to start: ${error.message}.`, { advice, cause: error });
}
