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
  /** The engine's token; from `SVC_TOKEN` or `--token-file`. */
  readonly token: string | undefined;
  /** Each flag with where its value is from; the token is not among them. */
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

/** Variables that stand for flags (specification, Console configuration). A flag beats its variable. */
const VARIABLES = { otel: "OTEL_DISABLED", otelServiceName: "OTEL_SERVICE_NAME", enableFlow: "SVC_ENABLE_FLOW" } as const;

function port(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > 65_535) throw new InvalidArgumentError("It takes a port from 0 to 65535; 0 picks a free one.");
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
    .addOption(new Option("--read-only", "show everything, change nothing").default(DEFAULTS.readOnly));
}

/** What the flags say, and the environment where there is no flag. Throws TypeError for a variable that is neither yes nor no. */
export function readConsoleOptions(command: Command, env: Readonly<Record<string, string | undefined>>): ConsoleOptions {
  const given = command.opts<typeof DEFAULTS>();
  const fromFlag = (name: keyof typeof DEFAULTS): boolean => command.getOptionValueSource(name) === "cli";
  const settings: ConsoleSetting[] = [];
  const settle = <Name extends keyof typeof DEFAULTS>(
    name: Name,
    flag: string,
    fromEnv?: () => (typeof DEFAULTS)[Name] | undefined,
  ): (typeof DEFAULTS)[Name] => {
    const variable = fromFlag(name) ? undefined : fromEnv?.();
    const source: SettingSource = fromFlag(name) ? "flag" : variable === undefined ? "default" : "env";
    const value = variable ?? given[name];
    settings.push({ flag, value, source, default: DEFAULTS[name], env: (VARIABLES as Partial<Record<keyof typeof DEFAULTS, string>>)[name] ?? null });
    return value;
  };
  const token = env.SVC_TOKEN?.trim();
  return {
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
    token: token === "" ? undefined : token,
    settings,
  };
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
  if (value === undefined) throw new TypeError(`${name} is ${JSON.stringify(env[name])}; it takes 1, true, yes, on, or 0, false, no, off`);
  return value;
}
