import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { ConsoleSetting, SettingSource } from "../contract/api.ts";

/** The command line of `svc-console`, read. */
export interface ConsoleOptions {
  readonly port: number;
  readonly host: string;
  readonly engineHost: string;
  readonly enginePort: number;
  readonly wsPort: number;
  readonly bridgePort: number;
  /** False with `--no-otel`. */
  readonly otel: boolean;
  readonly otelServiceName: string;
  readonly enableFlow: boolean;
  readonly readOnly: boolean;
  /** Host names besides the loopback ones under which the console may be asked for, in lower case. */
  readonly allowedHosts: readonly string[];
  /** The engine's token; from `--token-file`, else `SVC_TOKEN`. */
  readonly token: string | undefined;
  /** Runs before each attempt to connect to the engine; the attempt fails with its error. Default: no check. */
  readonly beforeConnect?: (() => Promise<void>) | undefined;
  /** Each flag with where its value is from; of the token only where it was found. */
  readonly settings: readonly ConsoleSetting[];
}

const DEFAULTS = {
  port: 3113,
  host: "127.0.0.1",
  engineHost: "127.0.0.1",
  enginePort: 3111,
  wsPort: 3112,
  bridgePort: 49134,
  otel: true,
  otelServiceName: "svc-console",
  enableFlow: false,
  readOnly: false,
} as const;

/** Variables that stand for flags (specification, Console configuration). A flag beats its variable, and an empty variable is none. */
const VARIABLES = { otel: "OTEL_DISABLED", otelServiceName: "OTEL_SERVICE_NAME", enableFlow: "SVC_ENABLE_FLOW" } as const;

/** The command line or a variable says something that the console does not take. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

function hostName(text: string, before: readonly string[] | undefined): readonly string[] {
  const name = text.toLowerCase();
  if (!/^[a-z0-9_.-]{1,253}$/.test(name)) throw new InvalidArgumentError("It takes a host name without scheme and port, e.g. console.example.org.");
  return [...(before ?? []), name];
}

function port(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > 65_535) throw new InvalidArgumentError("Expected a port from 0 to 65535; 0 picks a free one.");
  return number;
}

/** The flags of `svc-console`, for its own command line and for `svc console`. */
export function addConsoleOptions(command: Command): Command {
  return command
    .addOption(new Option("-p, --port <port>", "port of the console web UI").default(DEFAULTS.port).argParser(port))
    .addOption(new Option("--host <host>", "address the console binds to").default(DEFAULTS.host))
    .addOption(new Option("--engine-host <host>", "host of the engine").default(DEFAULTS.engineHost))
    .addOption(new Option("--engine-port <port>", "port of the engine HTTP API").default(DEFAULTS.enginePort).argParser(port))
    .addOption(new Option("--ws-port <port>", "port of the engine WebSocket server").default(DEFAULTS.wsPort).argParser(port))
    .addOption(new Option("--bridge-port <port>", "port of the engine SDK bridge").default(DEFAULTS.bridgePort).argParser(port))
    .addOption(new Option("--no-otel", "disable OpenTelemetry export of the console's own traces (OTEL_DISABLED)"))
    .addOption(new Option("--otel-service-name <name>", "service name for the console's own traces (OTEL_SERVICE_NAME)").default(DEFAULTS.otelServiceName))
    .addOption(new Option("--enable-flow", "enable the Flow page (SVC_ENABLE_FLOW)").default(DEFAULTS.enableFlow))
    .addOption(new Option("--read-only", "show everything, change nothing").default(DEFAULTS.readOnly))
    .addOption(new Option("--stop-with-stdin", "stop when standard input ends; for programs that start the console as their child"))
    .addOption(new Option("--token-file <file>", "file that holds the engine's token (else SVC_TOKEN)"))
    .addOption(
      new Option("--allowed-host <host...>", "name besides localhost under which browsers reach the console, e.g. behind a proxy").argParser(hostName),
    );
}

/** Where the engine of a project was found. */
export interface FoundEngine {
  readonly engineHost: string;
  readonly bridgePort: number;
  readonly enginePort?: number | undefined;
  readonly wsPort?: number | undefined;
  readonly token?: string | undefined;
  /** Makes it prove that it is the engine of the project; rejects when another process listens there. */
  readonly beforeConnect?: (() => Promise<void>) | undefined;
}

/**
 * What the flags say, and the environment where there is no flag. Throws UsageError for a variable that is neither yes nor no, and for a token
 * file that cannot be read. `found` counts where neither says anything.
 */
export function readConsoleOptions(command: Command, env: Readonly<Record<string, string | undefined>>, found?: FoundEngine): ConsoleOptions {
  const given = command.opts<typeof DEFAULTS>();
  const fromFlag = (name: keyof typeof DEFAULTS): boolean => command.getOptionValueSource(name) === "cli";
  const settings: ConsoleSetting[] = [];
  const settle = <Name extends keyof typeof DEFAULTS>(
    name: Name,
    flag: string,
    fromEnv?: () => (typeof DEFAULTS)[Name] | undefined,
  ): (typeof DEFAULTS)[Name] => {
    const variable = fromFlag(name) ? undefined : fromEnv?.();
    const ofProject = found === undefined || fromFlag(name) ? undefined : ((found as Partial<typeof DEFAULTS>)[name] as (typeof DEFAULTS)[Name] | undefined);
    const source: SettingSource = fromFlag(name) ? "flag" : variable !== undefined ? "env" : ofProject !== undefined ? "project" : "default";
    const value = variable ?? ofProject ?? given[name];
    // What is told is the flag's own: `--no-otel` is false while traces are sent.
    const told = (of: (typeof DEFAULTS)[Name]) => (flag.startsWith("--no-") ? !of : of);
    const environment = (VARIABLES as Partial<Record<keyof typeof DEFAULTS, string>>)[name] ?? null;
    settings.push({ flag, value: told(value), source, default: told(DEFAULTS[name]), env: environment });
    return value;
  };
  const { tokenFile, allowedHost = [] } = command.opts<{ readonly tokenFile?: string; readonly allowedHost?: readonly string[] }>();
  const variable = env.SVC_TOKEN?.trim() || undefined;
  const token = tokenFile === undefined ? (variable ?? found?.token) : readToken(tokenFile);
  const options = {
    port: settle("port", "--port"),
    host: settle("host", "--host"),
    engineHost: settle("engineHost", "--engine-host"),
    enginePort: settle("enginePort", "--engine-port"),
    wsPort: settle("wsPort", "--ws-port"),
    bridgePort: settle("bridgePort", "--bridge-port"),
    otel: settle("otel", "--no-otel", () => {
      const disabled = flagOf(env, VARIABLES.otel);
      return disabled === undefined ? undefined : (!disabled as true);
    }),
    otelServiceName: settle("otelServiceName", "--otel-service-name", () => (env[VARIABLES.otelServiceName]?.trim() || undefined) as "svc-console" | undefined),
    enableFlow: settle("enableFlow", "--enable-flow", () => flagOf(env, VARIABLES.enableFlow) as false | undefined),
    readOnly: settle("readOnly", "--read-only"),
    allowedHosts: allowedHost,
    token,
    beforeConnect: found?.beforeConnect,
    settings,
  };
  requireSendable(options);
  settings.push(
    { flag: "--allowed-host", value: allowedHost.join(", "), source: allowedHost.length > 0 ? "flag" : "default", default: "", env: null },
    // Where it is from, never what it is.
    {
      flag: "--token-file",
      value: tokenFile ?? (variable !== undefined ? "SVC_TOKEN" : token === undefined ? "" : "the project's .svc/token"),
      source: tokenFile !== undefined ? "flag" : variable !== undefined ? "env" : token === undefined ? "default" : "project",
      default: "",
      env: "SVC_TOKEN",
    },
  );
  return options;
}

function requireSendable({ engineHost, otelServiceName }: ConsoleOptions): void {
  const isHost = URL.canParse(`http://${engineHost.includes(":") ? `[${engineHost}]` : engineHost}:1`) && !/[/?#@\s]/.test(engineHost);
  if (!isHost) throw new UsageError(`--engine-host ${JSON.stringify(engineHost)} is no host name or address; the ports have flags of their own`);
  if (Buffer.byteLength(otelServiceName) > 256 || /\p{Cc}/u.test(otelServiceName)) {
    throw new UsageError("--otel-service-name (OTEL_SERVICE_NAME) takes 1 to 256 bytes without control characters");
  }
}

/** As the engine keeps one. */
const TOKEN = /^[\x21-\x7e]{16,512}$/;

function readToken(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new UsageError(`--token-file ${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  if (!TOKEN.test(text)) throw new UsageError(`--token-file ${file} holds no token: it takes 16 to 512 characters without blanks`);
  return text;
}

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ["1", true],
  ["true", true],
  ["yes", true],
  ["on", true],
  ["0", false],
  ["false", false],
  ["no", false],
  ["off", false],
]);

function flagOf(env: Readonly<Record<string, string | undefined>>, name: string): boolean | undefined {
  const text = env[name]?.trim().toLowerCase() ?? "";
  if (text === "") return undefined;
  const value = WORDS.get(text);
  if (value === undefined) throw new UsageError(`${name} is ${JSON.stringify(env[name])}; it takes 1, true, yes, on, or 0, false, no, off`);
  return value;
}
