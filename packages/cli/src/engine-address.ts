import { existsSync } from "node:fs";
import { connect as connectSocket } from "node:net";
import { resolve } from "node:path";
import { MASK, maskConfigText } from "@svc/protocol";
import { type AnnouncedEngine, announcedEngine } from "./announced-engine.ts";
import { listedBridgePort } from "./config-entries.ts";
import { requireProof } from "./engine-proof.ts";
import { CommandFailure, EXIT, usageFailure } from "./exit-codes.ts";
import type { Shell } from "./shell.ts";

export const DEFAULT_CONFIG_FILE = "config.yaml";
const DEFAULT_BRIDGE_URL = "ws://localhost:49134";
const PROBE_TIMEOUT_MS = 3000;

/** The config file of the project at hand, whether it is there or not; absolute. */
export function projectConfigFile(shell: Pick<Shell, "cwd">, config: string | undefined): string {
  return resolve(shell.cwd, config ?? DEFAULT_CONFIG_FILE);
}

/** Where a command looks for the engine, and why there. */
export interface EngineAddress {
  /** WebSocket address of the bridge, e.g. `ws://localhost:49134`. May hold credentials: show `shownUrl` instead. */
  readonly url: string;
  readonly shownUrl: string;
  /** The engine's token where its own project was found to hold it. `SVC_TOKEN` wins over it. */
  readonly token?: string | undefined;
  /** Makes the engine that was found in the data folder prove that it is that folder's; returns where to connect. Absent for an address that somebody chose. */
  readonly prove?: (() => Promise<string>) | undefined;
  readonly from: "--url" | "SVC_URL" | "announced" | "config" | "default";
  /** The config file that is not there, where it was looked for in vain. */
  readonly missingConfig?: string | undefined;
}

/**
 * `--url`, else `SVC_URL`, else where the engine that runs for the config file says that it listens, else the bridge port of the config
 * file, else the default port.
 */
export function engineAddress(shell: Shell, options: { readonly url?: string | undefined; readonly config?: string | undefined }): EngineAddress {
  if (options.url !== undefined) return checked(options.url, "--url");
  const variable = shell.env.SVC_URL ?? "";
  if (variable !== "") return checked(variable, "SVC_URL");
  const configFile = projectConfigFile(shell, options.config);
  const announced = announcedEngine(shell, configFile);
  if (announced !== undefined) return announcedAddress(shell, configFile, announced);
  const configured = configuredBridgeUrl(shell, configFile);
  const found = configured === undefined ? checked(DEFAULT_BRIDGE_URL, "default") : checked(configured, "config");
  return existsSync(configFile) ? found : { ...found, missingConfig: configFile };
}

/** Address of an engine that was found in the data folder. */
export function announcedAddress(shell: Pick<Shell, "env" | "cwd">, configFile: string, announced: AnnouncedEngine): EngineAddress {
  const { url, token } = announced;
  const prove = async (): Promise<string> => {
    // As it is now: the engine may have been started again, and has another key then.
    const now = announcedEngine(shell, configFile);
    if (now?.url !== url) throw new CommandFailure(`The engine of this folder no longer listens at ${url}.`, { exitCode: EXIT.noEngine });
    return requireProof(now);
  };
  return { ...checked(url, "announced"), token, prove };
}

function checked(url: string, from: EngineAddress["from"]): EngineAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || (parsed.protocol !== "ws:" && parsed.protocol !== "wss:") || parsed.hostname === "") {
    throw usageFailure(
      `${from} is ${JSON.stringify(maskConfigText(url))}, which is no address of an engine.`,
      `It looks like ${DEFAULT_BRIDGE_URL}: ws:// or wss://, a host, and the bridge port.`,
    );
  }
  parsed.username &&= MASK;
  parsed.password &&= MASK;
  return { url, shownUrl: parsed.href.replace(/\/$/, ""), from };
}

/**
 * Undefined when neither the variable nor the file says a port. Read without the engine's own loader: a file with a mistake in it says
 * nothing about the engine that runs, and every command would have to load the engine's code.
 */
function configuredBridgeUrl(shell: Shell, configFile: string): string | undefined {
  const variable = Number(shell.env.SVC_BRIDGE_PORT ?? "");
  const port = Number.isInteger(variable) && variable > 0 ? variable : listedBridgePort(configFile, shell.env);
  return port === undefined ? undefined : `ws://localhost:${port}`;
}

/** Fails with exit 3 unless something accepts connections there. Far quicker than letting the SDK retry until it gives up. */
export async function requireListener(address: EngineAddress): Promise<void> {
  const problem = await probe(address);
  if (problem !== undefined) throw noEngine(address, problem);
}

/** Exit 3: says what was tried and how to start an engine. */
export function noEngine(address: EngineAddress, problem: string): CommandFailure {
  const origin = {
    "--url": "given with --url",
    SVC_URL: "from the variable SVC_URL",
    announced: "from engine.json in the project's data folder",
    config: "from the config file",
    default: "the default",
  }[address.from];
  return new CommandFailure(`No engine reachable at ${address.shownUrl} (${origin}): ${problem}.`, {
    exitCode: EXIT.noEngine,
    advice: [
      ...(address.missingConfig === undefined
        ? ["Start one in your project's folder with: svc dev"]
        : [`There is no ${address.missingConfig}; make a project with: svc create`, "Or start the engine of one that you have, in its folder, with: svc dev"]),
      "An engine at another address: pass --url ws://HOST:PORT or set SVC_URL.",
    ],
  });
}

/** Undefined when something listens at the address, else why not. */
export async function probe(address: EngineAddress): Promise<string | undefined> {
  const { hostname, port, protocol } = new URL(address.url);
  const socket = connectSocket({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || (protocol === "wss:" ? 443 : 80) });
  try {
    return await new Promise<string | undefined>((settle) => {
      socket.setTimeout(PROBE_TIMEOUT_MS, () => settle(`nothing answered within ${PROBE_TIMEOUT_MS / 1000} s`));
      socket.once("connect", () => settle(undefined));
      socket.once("error", (error) => settle(inWords(error)));
    });
  } finally {
    socket.destroy();
  }
}

function inWords(error: NodeJS.ErrnoException & { readonly errors?: readonly NodeJS.ErrnoException[] }): string {
  // A name with an IPv4 and an IPv6 address fails with one error per address.
  const code = error.code ?? error.errors?.[0]?.code;
  if (code === "ECONNREFUSED") return "nothing listens there";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "the host name is not known";
  return error.message || code || "the connection failed";
}
