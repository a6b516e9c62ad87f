import { isIP } from "node:net";
import { dirname, resolve } from "node:path";
import { MASK, MAX_TIMEOUT_MS } from "@svc/protocol";
import { z } from "zod";
import type { LogLevel } from "../kernel/logger.ts";
import { didYouMean } from "../kernel/nearest-name.ts";
import { type BridgeBlock, bridgeBlockSchema, tokenSchema } from "./access-block.ts";
import { accessSettings, bindProblem } from "./bind-rule.ts";
import { folderSchema } from "./folder-path.ts";
import { httpFunctionsBlockSchema } from "./http-functions-block.ts";
import { type addressBlockSchema, collide, DEFAULT_BRIDGE, DEFAULT_HTTP, DEFAULT_REALTIME, isHostName, portSchema } from "./listen-address.ts";
import { SETTING_VARIABLES } from "./setting-variables.ts";
import type { TlsBlock } from "./tls-block.ts";
import type { BridgeListener, ConfigProblem, EffectiveSetting, EngineSettings, ListenAddress, TlsFiles } from "./types.ts";

/** What the command line says; it wins over everything. */
export interface ConfigOverrides {
  readonly bridgePort?: number | undefined;
  readonly httpPort?: number | undefined;
  readonly realtimePort?: number | undefined;
  readonly logLevel?: LogLevel | undefined;
  readonly mode?: EngineSettings["mode"] | undefined;
  readonly insecureBind?: boolean | undefined;
  /** Relative to the working directory. */
  readonly dataDir?: string | undefined;
}

const LOG_LEVELS = ["debug", "info", "warn", "error"] as const satisfies readonly LogLevel[];

const MODES = ["development", "production"] as const;

const deadlineSchema = z.int().min(1).max(MAX_TIMEOUT_MS);

const originSchema = z
  .string()
  .refine(isOrigin, { message: "must be an origin such as http://localhost:5173: scheme, host and port, nothing behind; `null` and * are never allowed" });

const hostNameSchema = z
  .string()
  .refine(isHostWithOrWithoutPort, { message: "must be a host name such as my-box.example or localhost:8080, without scheme or *" });

function isHostWithOrWithoutPort(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const [, bracketed, name] = /^(?:\[([^\]]+)\]|([^:]+))(?::[1-9][0-9]{0,4})?$/.exec(text) ?? [];
  return bracketed === undefined ? name !== undefined && (isIP(name) !== 0 || isHostName(name)) : isIP(bracketed) === 6;
}

/** The `engine:` block of the config file. */
export const engineBlockSchema = z.strictObject({
  bridge: bridgeBlockSchema.optional().meta({ description: "Where workers connect. Default 127.0.0.1:49134" }),
  bridges: z
    .array(bridgeBlockSchema)
    .max(16)
    .optional()
    .meta({ description: "Further listeners for workers, each with the keys of `bridge` and a port of its own; e.g. a public one with rbac. Default none" }),
  mode: z.enum(MODES).optional().meta({ description: "In production every client of the engine needs a token, on loopback too. Default development" }),
  token: tokenSchema
    .optional()
    .meta({ description: "The engine's token, best written as a variable. Default: the one in .svc/token, made at the first start" }),
  insecure_bind: z.boolean().optional().meta({ description: "Listen off loopback without any token. Default false" }),
  max_connections_per_address: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .meta({ description: "Connections that one address may have to one listener. Default 1000 from other machines, any number from this one" }),
  data_dir: folderSchema.optional().meta({ description: "Folder of stored data, relative to this file. Default .svc/data" }),
  logs_dir: folderSchema.optional().meta({ description: "Folder of the workers' log files, relative to this file. Default .svc/logs" }),
  default_timeout_ms: deadlineSchema.optional().meta({ description: "Deadline of a call that names none, in milliseconds. Default 30000" }),
  legacy_call_timeout_ms: deadlineSchema.optional().meta({ description: "Deadline for clients that cannot name one, in milliseconds. Default 900000" }),
  drain_ms: z.int().min(0).max(3_600_000).optional().meta({ description: "How long a stop waits for calls in flight, in milliseconds. Default 10000" }),
  allowed_origins: z.array(originSchema).optional().meta({ description: "Browser origins that may connect besides the engine's own. Default none" }),
  allowed_hosts: z.array(hostNameSchema).optional().meta({
    description: "Names accepted in the Host header besides the loopback ones, with any port, or with the one that is written behind them. Default none",
  }),
  console_invoke: z.boolean().optional().meta({ description: "Whether POST /_console/invoke is served. Default true" }),
  validate_requests: z
    .boolean()
    .optional()
    .meta({ description: "Whether payloads are checked by the request format of functions that do not say so themselves. Default false" }),
  http_functions: httpFunctionsBlockSchema.optional().meta({ description: "Rules for functions that are registered with a URL" }),
  log_level: z.enum(LOG_LEVELS).optional().meta({ description: "The engine's own log. Default info" }),
});
export type EngineBlock = z.output<typeof engineBlockSchema>;

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

/** `host` and `port` as a block of the file has them. */
export type AddressBlock = z.output<typeof addressBlockSchema>;

export interface SettingInputs {
  /** Absolute path of the config file. */
  readonly file: string;
  readonly engine: EngineBlock;
  /** Whether `.svc/token` is there. */
  readonly hasStoredToken: boolean;
  readonly http: AddressBlock;
  readonly realtime: AddressBlock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly overrides: ConfigOverrides;
  /** What relative paths of flags and variables are relative to. */
  readonly cwd: string;
}

export interface SettledSettings {
  readonly engine: EngineSettings;
  readonly http: ListenAddress;
  readonly realtime: ListenAddress;
  readonly effective: readonly EffectiveSetting[];
  /** Bad variables and flags, and listeners that want the same port. */
  readonly problems: readonly ConfigProblem[];
}

/** Brings flag, environment, file and default together, in this order. A variable that is set to nothing counts as not set. */
export function settle(inputs: SettingInputs): SettledSettings {
  const { engine } = inputs;
  const choices = new Choices(inputs);
  const beside = (path: string): string => resolve(dirname(inputs.file), path);
  const tlsAt = (key: string, block: TlsBlock | undefined): { readonly tls?: TlsFiles } => {
    if (block === undefined) return {};
    choices.note(`${key}.tls`, true);
    const { cert, key: privateKey, client_ca: ca } = block;
    return { tls: { cert: beside(cert), key: beside(privateKey), ...(ca === undefined ? {} : { clientCa: beside(ca) }) } };
  };
  const bridge: ListenAddress = {
    host: choices.pick({ key: "engine.bridge.host", file: engine.bridge?.host, fallback: DEFAULT_BRIDGE.host }),
    port: choices.pick({
      key: "engine.bridge.port",
      flag: choices.port("bridgePort"),
      env: choices.portFrom(SETTING_VARIABLES["engine.bridge.port"]),
      file: engine.bridge?.port,
      fallback: DEFAULT_BRIDGE.port,
    }),
    ...tlsAt("engine.bridge", engine.bridge?.tls),
  };
  const http: ListenAddress = {
    host: choices.pick({ key: "svc-http.host", file: inputs.http.host, fallback: DEFAULT_HTTP.host }),
    port: choices.pick({
      key: "svc-http.port",
      flag: choices.port("httpPort"),
      env: choices.portFrom(SETTING_VARIABLES["svc-http.port"]),
      file: inputs.http.port,
      fallback: DEFAULT_HTTP.port,
    }),
    ...tlsAt("svc-http", inputs.http.tls),
  };
  const realtime: ListenAddress = {
    host: choices.pick({ key: "svc-stream.host", file: inputs.realtime.host, fallback: DEFAULT_REALTIME.host }),
    port: choices.pick({
      key: "svc-stream.port",
      flag: choices.port("realtimePort"),
      env: choices.portFrom(SETTING_VARIABLES["svc-stream.port"]),
      file: inputs.realtime.port,
      fallback: DEFAULT_REALTIME.port,
    }),
    ...tlsAt("svc-stream", inputs.realtime.tls),
  };
  const exposure = {
    mode: choices.pick<EngineSettings["mode"]>({
      key: "engine.mode",
      flag: inputs.overrides.mode,
      env: choices.wordFrom(SETTING_VARIABLES["engine.mode"], MODES),
      file: engine.mode,
      fallback: "development",
    }),
    insecureBind: choices.pick({
      key: "engine.insecure_bind",
      flag: inputs.overrides.insecureBind,
      file: engine.insecure_bind,
      fallback: false,
    }),
  };
  const token = choices.secret({ key: "engine.token", env: choices.tokenFrom(SETTING_VARIABLES["engine.token"]), file: engine.token, fallback: ".svc/token" });
  const accessOf = (key: string, block: BridgeBlock, address: ListenAddress): BridgeListener["access"] => {
    const access = accessSettings(block, address, exposure);
    choices.note(`${key}.token`, access.tokenRequired ? "required" : "optional", block.token !== undefined);
    if (access.rbac !== undefined) choices.note(`${key}.rbac`, true);
    if (access.middlewareFunctionId !== undefined) choices.note(`${key}.middleware_function_id`, access.middlewareFunctionId);
    return access;
  };
  const bridgeAccess = accessOf("engine.bridge", engine.bridge ?? {}, bridge);
  const bridges = (engine.bridges ?? []).map((block, index): BridgeListener => {
    const key = `engine.bridges[${index}]`;
    const address: ListenAddress = {
      host: choices.pick({ key: `${key}.host`, file: block.host, fallback: DEFAULT_BRIDGE.host }),
      port: choices.pick({ key: `${key}.port`, file: block.port, fallback: DEFAULT_BRIDGE.port }),
      ...tlsAt(key, block.tls),
    };
    return { address, access: accessOf(key, block, address) };
  });
  choices.refuseBinds(
    { "engine.bridge": { address: bridge, access: bridgeAccess }, "svc-http": { address: http }, "svc-stream": { address: realtime } },
    bridges,
    { ...exposure, hasToken: token !== undefined || inputs.hasStoredToken },
  );
  choices.refuseSharedTokens([bridgeAccess, ...bridges.map(({ access }) => access)], token);
  const settings: EngineSettings = {
    bridge,
    bridgeAccess,
    bridges,
    ...exposure,
    token,
    maxConnectionsPerAddress: choices.optional("engine.max_connections_per_address", engine.max_connections_per_address),
    dataDir: choices.pick({
      key: "engine.data_dir",
      flag: choices.path(inputs.overrides.dataDir, "data folder of the command line"),
      env: choices.path(choices.variable(SETTING_VARIABLES["engine.data_dir"]), SETTING_VARIABLES["engine.data_dir"]),
      file: engine.data_dir === undefined ? undefined : beside(engine.data_dir),
      fallback: beside(".svc/data"),
    }),
    logsDir: choices.pick({ key: "engine.logs_dir", file: engine.logs_dir === undefined ? undefined : beside(engine.logs_dir), fallback: beside(".svc/logs") }),
    defaultTimeoutMs: choices.pick({ key: "engine.default_timeout_ms", file: engine.default_timeout_ms, fallback: 30_000 }),
    legacyCallTimeoutMs: choices.pick({ key: "engine.legacy_call_timeout_ms", file: engine.legacy_call_timeout_ms, fallback: 900_000 }),
    drainMs: choices.pick({ key: "engine.drain_ms", file: engine.drain_ms, fallback: 10_000 }),
    allowedOrigins: choices.pick<readonly string[]>({ key: "engine.allowed_origins", file: engine.allowed_origins, fallback: [] }),
    allowedHosts: choices.pick<readonly string[]>({ key: "engine.allowed_hosts", file: engine.allowed_hosts?.map((host) => host.toLowerCase()), fallback: [] }),
    consoleInvoke: choices.pick({ key: "engine.console_invoke", file: engine.console_invoke, fallback: true }),
    validateRequests: choices.pick({ key: "engine.validate_requests", file: engine.validate_requests, fallback: false }),
    httpFunctions: {
      urlAllowlist: choices.pick<readonly string[]>({ key: "engine.http_functions.url_allowlist", file: engine.http_functions?.url_allowlist, fallback: [] }),
      blockPrivateIps: choices.pick({ key: "engine.http_functions.block_private_ips", file: engine.http_functions?.block_private_ips, fallback: true }),
      requireHttps: choices.pick({ key: "engine.http_functions.require_https", file: engine.http_functions?.require_https, fallback: true }),
      retries: choices.pick({ key: "engine.http_functions.retries", file: engine.http_functions?.retries, fallback: 2 }),
    },
    logLevel: choices.pick<LogLevel>({
      key: "engine.log_level",
      flag: inputs.overrides.logLevel,
      env: choices.wordFrom(SETTING_VARIABLES["engine.log_level"], LOG_LEVELS),
      file: engine.log_level,
      fallback: "info",
    }),
  };
  choices.refuseCollisions({
    "the worker socket (engine.bridge)": bridge,
    "the HTTP listener (svc-http)": http,
    "the real-time listener (svc-stream)": realtime,
    ...Object.fromEntries(bridges.map(({ address }, index) => [`engine.bridges[${index}]`, address])),
  });
  return { engine: settings, http, realtime, effective: choices.effective, problems: choices.problems };
}

interface Candidates<T> {
  readonly key: string;
  readonly flag?: T | undefined;
  readonly env?: T | undefined;
  readonly file: T | undefined;
  readonly fallback: T;
}

class Choices {
  readonly effective: EffectiveSetting[] = [];
  readonly problems: ConfigProblem[] = [];
  readonly #inputs: SettingInputs;

  constructor(inputs: SettingInputs) {
    this.#inputs = inputs;
  }

  pick<T extends EffectiveSetting["value"]>({ key, flag, env, file, fallback }: Candidates<T>): T {
    const source = flag !== undefined ? "flag" : env !== undefined ? "env" : file !== undefined ? "file" : "default";
    const value = flag ?? env ?? file ?? fallback;
    this.effective.push({ key, value, source });
    return value;
  }

  /** What the file alone says. */
  note(key: string, value: EffectiveSetting["value"], isFromFile = true): void {
    this.effective.push({ key, value, source: isFromFile ? "file" : "default" });
  }

  optional<T extends number>(key: string, file: T | undefined): T | undefined {
    if (file !== undefined) this.note(key, file);
    return file;
  }

  /** Undefined when nothing says it; `fallback` then tells where it comes from. */
  secret({
    key,
    env,
    file,
    fallback,
  }: {
    readonly key: string;
    readonly env: string | undefined;
    readonly file: string | undefined;
    readonly fallback: string;
  }) {
    const value = env ?? file;
    if (value === undefined) this.effective.push({ key, value: fallback, source: "default" });
    else this.effective.push({ key, value: MASK, source: env === undefined ? "file" : "env", secret: true });
    return value;
  }

  variable(name: string): string | undefined {
    const { env } = this.#inputs;
    const text = Object.hasOwn(env, name) ? env[name]?.trim() : undefined;
    return text === "" ? undefined : text;
  }

  port(flag: "bridgePort" | "httpPort" | "realtimePort"): number | undefined {
    const port = this.#inputs.overrides[flag];
    if (port === undefined || portSchema.safeParse(port).success) return port;
    this.#refuse(`the port ${port} of the command line must be a whole number from 0 to 65535`);
    return undefined;
  }

  portFrom(name: string): number | undefined {
    const text = this.variable(name);
    if (text === undefined) return undefined;
    const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
    if (portSchema.safeParse(port).success) return port;
    this.#refuse(`the environment variable ${name} must be a port from 0 to 65535, got ${JSON.stringify(text)}`);
    return undefined;
  }

  wordFrom<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const text = this.variable(name);
    if (text === undefined) return undefined;
    const word = words.find((known) => known === text.toLowerCase());
    if (word === undefined)
      this.#refuse(`the environment variable ${name} must be one of ${words.join(", ")}, got ${JSON.stringify(text)}${didYouMean(text, words)}`);
    return word;
  }

  /** What is wrong with it is said without showing it. */
  tokenFrom(name: string): string | undefined {
    const text = this.variable(name);
    if (text === undefined) return undefined;
    const parsed = tokenSchema.safeParse(text);
    if (parsed.success) return parsed.data;
    this.#refuse(`the environment variable ${name} ${parsed.error.issues[0]?.message ?? "is no token"}`);
    return undefined;
  }

  path(text: string | undefined, what: string): string | undefined {
    if (text === undefined) return undefined;
    const parsed = folderSchema.safeParse(text);
    if (parsed.success) return resolve(this.#inputs.cwd, parsed.data);
    this.#refuse(`${what} is no usable path: ${parsed.error.issues.map((issue) => issue.message).join(", ")}`);
    return undefined;
  }

  refuseCollisions(listeners: Readonly<Record<string, ListenAddress>>): void {
    const entries = Object.entries(listeners);
    for (const [index, [name, address]] of entries.entries()) {
      const other = entries.slice(0, index).find(([, earlier]) => collide(earlier, address));
      if (other) this.#refuse(`${other[0]} and ${name} both want port ${address.port}; give one of them another`);
    }
  }

  refuseBinds(
    named: Readonly<Record<string, Pick<BridgeListener, "address"> & Partial<BridgeListener>>>,
    bridges: readonly BridgeListener[],
    facts: Parameters<typeof bindProblem>[2],
  ): void {
    const further = bridges.map((listener, index) => [`engine.bridges[${index}]`, listener] as const);
    for (const [key, listener] of [...Object.entries(named), ...further]) {
      const problem = bindProblem(key, listener, facts);
      if (problem !== undefined) this.#refuse(problem);
    }
  }

  /** A token that means two things would mean the stronger one. */
  refuseSharedTokens(listeners: readonly BridgeListener["access"][], engineToken: string | undefined): void {
    for (const { rbac } of listeners) {
      const seen = new Map<string, string>();
      for (const { token, role } of rbac?.tokens ?? []) {
        if (token === engineToken) this.#refuse(`the token of the role ${role} is the engine's own (engine.token); give the role another`);
        const other = seen.get(token);
        if (other !== undefined) this.#refuse(`two entries of rbac.tokens, of the roles ${other} and ${role}, have the same token`);
        seen.set(token, role);
      }
    }
  }

  #refuse(message: string): void {
    this.problems.push({ line: undefined, column: undefined, key: undefined, message });
  }
}
