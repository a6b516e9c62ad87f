import { existsSync } from "node:fs";
import { connect as connectSocket } from "node:net";
import { resolve } from "node:path";
import { MASK, MAX_ADDRESSES, maskConfigText, splitAddresses } from "@svc-runtime/protocol";
import { CommandFailure, EXIT, usageFailure } from "../exit-codes.ts";
import { listedBridgePort } from "../project/config-entries.ts";
import type { Shell } from "../shell.ts";
import { type AnnouncedEngine, announcedEngines, engineIn } from "./announced-engine.ts";
import { requireProof } from "./engine-proof.ts";

export const DEFAULT_CONFIG_FILE = "config.yaml";
const DEFAULT_BRIDGE_URL = "ws://localhost:49134";
const PROBE_TIMEOUT_MS = 3000;

/** Returns the absolute path of the project's config file, which may not exist. */
export function projectConfigFile(shell: Pick<Shell, "cwd">, config: string | undefined): string {
  return resolve(shell.cwd, config ?? DEFAULT_CONFIG_FILE);
}

/** Address of the engine, and the source of the address. */
export interface EngineAddress {
  /**
   * WebSocket address of the bridge, e.g. `ws://localhost:49134`. It may contain credentials, so show `shownUrl`
   * instead.
   */
  readonly url: string;
  readonly shownUrl: string;
  /** Further engines of the same cluster. They are used if this engine cannot be reached. */
  readonly further?: readonly { readonly url: string; readonly shownUrl: string }[] | undefined;
  /**
   * The other engines of a `svc dev --cluster`, each with its own token and proof. They are used if this one does not
   * respond.
   */
  readonly others?: readonly EngineAddress[] | undefined;
  /** Token of the engine, if it was found in the engine's own project. `SVC_TOKEN` takes precedence over it. */
  readonly token?: string | undefined;
  /**
   * Makes the engine prove that it owns the data folder. Resolves with the address to connect to. Absent if the user
   * gave the address.
   */
  readonly prove?: (() => Promise<string>) | undefined;
  readonly from: "--url" | "SVC_URL" | "announced" | "config" | "default";
  /** Path of the config file, if the file is needed but does not exist. */
  readonly missingConfig?: string | undefined;
}

/**
 * Returns the first address that exists among: `--url`; `SVC_URL`; the running engine of the config file; the config
 * file's bridge port; the default port.
 */
export function engineAddress(
  shell: Shell,
  options: { readonly url?: string | undefined; readonly config?: string | undefined },
): EngineAddress {
  if (options.url !== undefined) return several(options.url, "--url");
  const variable = shell.env.SVC_URL ?? "";
  if (variable !== "") return several(variable, "SVC_URL");
  const configFile = projectConfigFile(shell, options.config);
  const [announced, ...others] = announcedEngines(shell, configFile).map(announcedAddress);
  if (announced !== undefined) return others.length === 0 ? announced : { ...announced, others };
  const configured = configuredBridgeUrl(shell, configFile);
  const found = configured === undefined ? checked(DEFAULT_BRIDGE_URL, "default") : checked(configured, "config");
  return existsSync(configFile) ? found : { ...found, missingConfig: configFile };
}

/** Returns the address of an engine that was found in its data folder. */
export function announcedAddress({ dataDir, url, token }: AnnouncedEngine): EngineAddress {
  const prove = async (): Promise<string> => {
    // Read the announcement again, because the engine may have restarted and has another key then.
    const now = engineIn(dataDir);
    if (now?.url !== url)
      throw new CommandFailure(`The engine of this folder no longer listens at ${url}.`, { exitCode: EXIT.noEngine });
    return requireProof(now);
  };
  return { ...checked(url, "announced"), token, prove };
}

/** Parses the addresses of one or more engines, separated by commas. */
function several(text: string, from: EngineAddress["from"]): EngineAddress {
  const [first = "", ...others] = splitAddresses(text);
  if (others.length >= MAX_ADDRESSES) throw usageFailure(`${from} has more than ${MAX_ADDRESSES} addresses.`);
  const further = others.map((url) => checked(url, from));
  return { ...checked(first, from), ...(further.length === 0 ? {} : { further }) };
}

function checked(url: string, from: EngineAddress["from"]): EngineAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  // A comma in the host name means that a further address does not begin with ws://.
  const hasHost = parsed !== undefined && parsed.hostname !== "" && !parsed.hostname.includes(",");
  if (!hasHost || (parsed.protocol !== "ws:" && parsed.protocol !== "wss:")) {
    throw usageFailure(
      `${from} is ${JSON.stringify(maskConfigText(url))}, which is not an engine address.`,
      `Expected ws:// or wss://, a host and the bridge port, e.g. ${DEFAULT_BRIDGE_URL}; several with commas`,
    );
  }
  parsed.username &&= MASK;
  parsed.password &&= MASK;
  return { url, shownUrl: parsed.href.replace(/\/$/, ""), from };
}

/**
 * Returns the address with the bridge port of the variable or the file, or undefined if neither has a port. Does not use
 * the engine's loader, for two reasons: the engine may run although the file is invalid now; and loading the engine's
 * code would slow down every command.
 */
function configuredBridgeUrl(shell: Shell, configFile: string): string | undefined {
  const variable = Number(shell.env.SVC_BRIDGE_PORT ?? "");
  const port = Number.isInteger(variable) && variable > 0 ? variable : listedBridgePort(configFile, shell.env);
  return port === undefined ? undefined : `ws://localhost:${port}`;
}

/**
 * Returns the first of the addresses that accepts connections, with the others as `further`. Throws (exit 3) if no
 * address does. This is much faster than the retries of the SDK.
 */
export async function requireListener(address: EngineAddress): Promise<EngineAddress> {
  const found = await listening(address);
  if (typeof found === "string") throw noEngine(address, found);
  return found;
}

/** Returns an error (exit 3) with the addresses that were tried, and with advice on how to start an engine. */
export function noEngine(address: EngineAddress, problem: string): CommandFailure {
  const origin = {
    "--url": "given with --url",
    SVC_URL: "from the environment variable SVC_URL",
    announced: "from engine.json in the project's data folder",
    config: "from the config file",
    default: "the default",
  }[address.from];
  const tried = [address, ...(address.further ?? [])].map(({ shownUrl }) => shownUrl).join(", ");
  return new CommandFailure(`No engine reachable at ${tried} (${origin}): ${problem}.`, {
    exitCode: EXIT.noEngine,
    advice: [
      ...(address.missingConfig === undefined
        ? ["Start one in your project's folder: svc dev"]
        : [
            `${address.missingConfig} not found; create a project: svc create`,
            "Or start the engine in the folder of an existing project: svc dev",
          ]),
      "For an engine at another address, pass --url ws://HOST:PORT or set SVC_URL.",
    ],
  });
}

/**
 * Returns undefined if a process listens at the address or at one of its further addresses. Otherwise returns the
 * problem.
 */
export async function probe(address: EngineAddress): Promise<string | undefined> {
  const found = await listening(address);
  return typeof found === "string" ? found : undefined;
}

/** Returns the address of the first engine that listens. If none does, returns the problem of the first address. */
export async function listening(address: EngineAddress): Promise<EngineAddress | string> {
  const { further = [], ...first } = address;
  const all = [{ url: first.url, shownUrl: first.shownUrl }, ...further];
  const problems: string[] = [];
  for (const [index, one] of all.entries()) {
    const problem = await probeOne(one.url);
    if (problem === undefined) return { ...first, ...one, further: [...all.slice(index + 1), ...all.slice(0, index)] };
    problems.push(problem);
  }
  return problems[0] ?? "";
}

async function probeOne(url: string): Promise<string | undefined> {
  const { hostname, port, protocol } = new URL(url);
  const socket = connectSocket({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (protocol === "wss:" ? 443 : 80),
  });
  try {
    return await new Promise<string | undefined>((settle) => {
      socket.setTimeout(PROBE_TIMEOUT_MS, () => settle(`no response within ${PROBE_TIMEOUT_MS / 1000} s`));
      socket.once("connect", () => settle(undefined));
      socket.once("error", (error) => settle(connectionProblem(error)));
    });
  } finally {
    socket.destroy();
  }
}

function connectionProblem(
  error: NodeJS.ErrnoException & { readonly errors?: readonly NodeJS.ErrnoException[] },
): string {
  // If a host name has an IPv4 and an IPv6 address, there is one error for each of them.
  const code = error.code ?? error.errors?.[0]?.code;
  if (code === "ECONNREFUSED") return "nothing listens there";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "unknown host name";
  return error.message || code || "the connection failed";
}
