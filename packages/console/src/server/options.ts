import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { ConsoleSetting, SettingSource } from "../contract/api.ts";

/** Parsed command line of `svc-console`. */
export interface ConsoleOptions {
  readonly port: number;
  readonly host: string;
  readonly engineHost: string;
  readonly enginePort: number;
  readonly wsPort: number;
  readonly bridgePort: number;
  /** False if `--no-otel` is given. */
  readonly otel: boolean;
  readonly otelServiceName: string;
  readonly enableFlow: boolean;
  readonly readOnly: boolean;
  /** Allowed host names besides the loopback ones, in lower case. */
  readonly allowedHosts: readonly string[];
  /** The engine's token, from `--token-file` or `SVC_TOKEN`. */
  readonly token: string | undefined;
  /**
   * Called before each connection attempt to the engine. If it throws, the attempt fails. By default, nothing is
   * checked.
   */
  readonly beforeConnect?: (() => Promise<void>) | undefined;
  /** All flags, each with its value and the source of the value. For the token, only the source is shown. */
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

/**
 * Environment variables that set flags (specification, Console configuration). If both are given, the flag is used. An
 * empty variable is ignored.
 */
const VARIABLES = {
  otel: "OTEL_DISABLED",
  otelServiceName: "OTEL_SERVICE_NAME",
  enableFlow: "SVC_ENABLE_FLOW",
} as const;

/** An invalid value on the command line or in a variable. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

function hostName(text: string, before: readonly string[] | undefined): readonly string[] {
  const name = text.toLowerCase();
  if (!/^[a-z0-9_.-]{1,253}$/.test(name))
    throw new InvalidArgumentError("Expected a host name without scheme and port, e.g. console.example.org.");
  return [...(before ?? []), name];
}

function port(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > 65_535)
    throw new InvalidArgumentError("Expected a port from 0 to 65535; 0 picks a free one.");
  return number;
}

/** Adds the flags of `svc-console`, also used by `svc console`. */
export function addConsoleOptions(command: Command): Command {
  return command
    .addOption(new Option("-p, --port <port>", "port of the console web UI").default(DEFAULTS.port).argParser(port))
    .addOption(new Option("--host <host>", "address the console binds to").default(DEFAULTS.host))
    .addOption(new Option("--engine-host <host>", "host of the engine").default(DEFAULTS.engineHost))
    .addOption(
      new Option("--engine-port <port>", "port of the engine HTTP API").default(DEFAULTS.enginePort).argParser(port),
    )
    .addOption(
      new Option("--ws-port <port>", "port of the engine WebSocket server").default(DEFAULTS.wsPort).argParser(port),
    )
    .addOption(
      new Option("--bridge-port <port>", "port of the engine SDK bridge").default(DEFAULTS.bridgePort).argParser(port),
    )
    .addOption(new Option("--no-otel", "disable OpenTelemetry export of the console's own traces (OTEL_DISABLED)"))
    .addOption(
      new Option("--otel-service-name <name>", "service name for the console's own traces (OTEL_SERVICE_NAME)").default(
        DEFAULTS.otelServiceName,
      ),
    )
    .addOption(new Option("--enable-flow", "enable the Flow page (SVC_ENABLE_FLOW)").default(DEFAULTS.enableFlow))
    .addOption(new Option("--read-only", "show everything, change nothing").default(DEFAULTS.readOnly))
    .addOption(
      new Option(
        "--stop-with-stdin",
        "stop when standard input ends; for programs that start the console as a child process",
      ),
    )
    .addOption(new Option("--token-file <file>", "file with the engine's token (default: SVC_TOKEN)"))
    .addOption(
      new Option("--allowed-host <host...>", "additional host name of the console, e.g. behind a proxy").argParser(
        hostName,
      ),
    );
}

/** Addresses of the engine that belongs to a project. */
export interface FoundEngine {
  readonly engineHost: string;
  readonly bridgePort: number;
  readonly enginePort?: number | undefined;
  readonly wsPort?: number | undefined;
  readonly token?: string | undefined;
  /** Checks that the engine belongs to the project. Rejects if another process listens there. */
  readonly beforeConnect?: (() => Promise<void>) | undefined;
}

/**
 * Reads the options. For each option, the first source that has it is used: flags, environment variables, `found`.
 * Throws UsageError for a boolean variable with another value than yes or no, and for a token file that cannot be read.
 */
export function readConsoleOptions(
  command: Command,
  env: Readonly<Record<string, string | undefined>>,
  found?: FoundEngine,
): ConsoleOptions {
  const given = command.opts<typeof DEFAULTS>();
  const fromFlag = (name: keyof typeof DEFAULTS): boolean => command.getOptionValueSource(name) === "cli";
  const settings: ConsoleSetting[] = [];
  const resolve = <Name extends keyof typeof DEFAULTS>(
    name: Name,
    flag: string,
    fromEnv?: () => (typeof DEFAULTS)[Name] | undefined,
  ): (typeof DEFAULTS)[Name] => {
    const variable = fromFlag(name) ? undefined : fromEnv?.();
    const ofProject =
      found === undefined || fromFlag(name)
        ? undefined
        : ((found as Partial<typeof DEFAULTS>)[name] as (typeof DEFAULTS)[Name] | undefined);
    const source: SettingSource = fromFlag(name)
      ? "flag"
      : variable !== undefined
        ? "env"
        : ofProject !== undefined
          ? "project"
          : "default";
    const value = variable ?? ofProject ?? given[name];
    // The setting shows the value of the flag itself. For example, `--no-otel` is false if traces are sent.
    const shown = (of: (typeof DEFAULTS)[Name]) => (flag.startsWith("--no-") ? !of : of);
    const environment = (VARIABLES as Partial<Record<keyof typeof DEFAULTS, string>>)[name] ?? null;
    settings.push({ flag, value: shown(value), source, default: shown(DEFAULTS[name]), env: environment });
    return value;
  };
  const { tokenFile, allowedHost = [] } = command.opts<{
    readonly tokenFile?: string;
    readonly allowedHost?: readonly string[];
  }>();
  const variable = env.SVC_TOKEN?.trim() || undefined;
  const token = tokenFile === undefined ? (variable ?? found?.token) : readToken(tokenFile);
  const options = {
    port: resolve("port", "--port"),
    host: resolve("host", "--host"),
    engineHost: resolve("engineHost", "--engine-host"),
    enginePort: resolve("enginePort", "--engine-port"),
    wsPort: resolve("wsPort", "--ws-port"),
    bridgePort: resolve("bridgePort", "--bridge-port"),
    otel: resolve("otel", "--no-otel", () => {
      const disabled = flagOf(env, VARIABLES.otel);
      return disabled === undefined ? undefined : (!disabled as true);
    }),
    otelServiceName: resolve(
      "otelServiceName",
      "--otel-service-name",
      () => (env[VARIABLES.otelServiceName]?.trim() || undefined) as "svc-console" | undefined,
    ),
    enableFlow: resolve("enableFlow", "--enable-flow", () => flagOf(env, VARIABLES.enableFlow) as false | undefined),
    readOnly: resolve("readOnly", "--read-only"),
    allowedHosts: allowedHost,
    token,
    beforeConnect: found?.beforeConnect,
    settings,
  };
  requireSendable(options);
  settings.push(
    {
      flag: "--allowed-host",
      value: allowedHost.join(", "),
      source: allowedHost.length > 0 ? "flag" : "default",
      default: "",
      env: null,
    },
    // The source of the token is shown, but never the token.
    {
      flag: "--token-file",
      value:
        tokenFile ?? (variable !== undefined ? "SVC_TOKEN" : token === undefined ? "" : "the project's .svc/token"),
      source:
        tokenFile !== undefined ? "flag" : variable !== undefined ? "env" : token === undefined ? "default" : "project",
      default: "",
      env: "SVC_TOKEN",
    },
  );
  return options;
}

function requireSendable({ engineHost, otelServiceName }: ConsoleOptions): void {
  const isHost =
    URL.canParse(`http://${engineHost.includes(":") ? `[${engineHost}]` : engineHost}:1`) &&
    !/[/?#@\s]/.test(engineHost);
  if (!isHost)
    throw new UsageError(
      `--engine-host ${JSON.stringify(engineHost)} is not a host name or address; ports have separate flags`,
    );
  if (Buffer.byteLength(otelServiceName) > 256 || /\p{Cc}/u.test(otelServiceName)) {
    throw new UsageError("--otel-service-name (OTEL_SERVICE_NAME) takes 1 to 256 bytes without control characters");
  }
}

/** Form of a token. It is the same as in the engine. */
const TOKEN = /^[\x21-\x7e]{16,512}$/;

function readToken(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new UsageError(`--token-file ${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  if (!TOKEN.test(text))
    throw new UsageError(`--token-file ${file} contains no valid token: expected 16 to 512 characters without blanks`);
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
  if (value === undefined)
    throw new UsageError(`${name} is ${JSON.stringify(env[name])}; expected 1, true, yes, on, or 0, false, no, off`);
  return value;
}
