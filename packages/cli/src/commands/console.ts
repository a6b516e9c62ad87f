import { Command } from "commander";
import { addConsoleOptions, type ConsoleOptions, type FoundEngine, readConsoleOptions, UsageError } from "svc-console/options";
import { announcedEngine } from "../announced-engine.ts";
import { engineAddress, projectConfigFile } from "../engine-address.ts";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import { freePortLike } from "../free-port.ts";
import { openBrowser } from "../open-browser.ts";
import { findPortHolder } from "../port-holder.ts";
import type { Shell } from "../shell.ts";
import { listenForStop } from "../stop-requests.ts";
import { askedAsOption, retyped, typedWords } from "../typed-command.ts";
import { configOption } from "./options.ts";

interface OwnOptions {
  readonly config?: string;
  readonly open: boolean;
  readonly stopWithStdin?: true;
  readonly askedAs?: readonly string[];
}

/** `svc console`: the console, beside the engine of the project at hand. */
export function consoleCommand(shell: Shell): Command {
  return addConsoleOptions(new Command("console"))
    .summary("start the console, to see and drive the running system from the browser")
    .description(
      "Start the console and open it in the browser. It looks for the engine that runs for config.yaml (or SVC_URL), unless --engine-host and the ports say otherwise, and waits for one that is not there yet.",
    )
    .addOption(configOption("config file whose engine to look for"))
    .option("--no-open", "print the address only; it is never opened without a terminal and a screen")
    .addOption(askedAsOption())
    .addHelpText("after", "\nExamples:\n  svc console\n  svc console --port 4000 --read-only\n  svc console --engine-host 10.0.0.5 --token-file ./token\n")
    .action((options: OwnOptions, command: Command) => runConsole(shell, command, { ...options, ...command.optsWithGlobals<{ config?: string }>() }));
}

async function runConsole(shell: Shell, command: Command, options: OwnOptions): Promise<void> {
  const settings = read(shell, command, options);
  const stop = listenForStop(shell, { stdin: options.stopWithStdin ? "stops" : "ignored", nowMs: () => performance.now() });
  try {
    // Loaded here and not above: the engine and the other commands have no use for it.
    const { startConsole } = await import("svc-console");
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

function read(shell: Shell, command: Command, options: OwnOptions): ConsoleOptions {
  try {
    return readConsoleOptions(command, shell.env, foundEngine(shell, command, options));
  } catch (error) {
    throw error instanceof UsageError ? usageFailure(`${error.message}.`) : error;
  }
}

/** As the other commands find it; undefined when the command line says where it is, or nothing does. */
function foundEngine(shell: Shell, command: Command, { config }: OwnOptions): FoundEngine | undefined {
  if (command.getOptionValueSource("engineHost") === "cli") return undefined;
  const address = engineAddress(shell, { config });
  if (address.from === "default") return undefined;
  const { hostname, port, protocol, password } = new URL(address.url);
  if (protocol === "wss:") throw new CommandFailure(`The engine at ${address.shownUrl} listens with TLS, which the console does not speak yet.`);
  // Both of a project's addresses are this machine's, where the console dials 127.0.0.1 as its flag does by default.
  const engineHost = hostname === "localhost" ? "127.0.0.1" : hostname.replace(/^\[|\]$/g, "");
  const announced = address.from === "announced" ? announcedEngine(shell, projectConfigFile(shell, config)) : undefined;
  const token = address.token ?? (password === "" ? undefined : decodeURIComponent(password));
  const { prove } = address;
  const beforeConnect = prove === undefined ? undefined : async (): Promise<void> => void (await prove());
  return { engineHost, bridgePort: Number(port) || 80, enginePort: portOf(announced?.http), wsPort: portOf(announced?.realtime), token, beforeConnect };
}

function portOf(url: string | undefined): number | undefined {
  return url === undefined ? undefined : Number(new URL(url).port) || 80;
}

async function explained(error: unknown, port: number, typed: readonly string[]): Promise<unknown> {
  if (error instanceof UsageError) return usageFailure(`${error.message}.`);
  if (!(error instanceof Error) || error instanceof TypeError) return error;
  const isInUse = error.cause instanceof Error && "code" in error.cause && error.cause.code === "EADDRINUSE";
  const holder = isInUse ? await findPortHolder(port) : undefined;
  const advice = holder === undefined ? [] : [`Port ${port} is held by process ${holder.pid}: ${holder.command}`, `Stop it with: kill ${holder.pid}`];
  // In `svc dev` it is one listener among others.
  const flag = typed[1] === "dev" ? "--console-port" : "--port";
  if (isInUse) advice.push(`Or take another port: ${retyped(typed, flag, await freePortLike(port, typed.map(Number)))}`);
  return new CommandFailure(`The console did not start: ${error.message}.`, { advice, cause: error });
}
