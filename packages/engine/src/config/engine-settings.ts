import { dirname, resolve } from "node:path";
import { didYouMean, MASK } from "@svc-runtime/protocol";
import { z } from "zod";
import type { FileProblem } from "../yaml/problem.ts";
import { accessSettings, bindProblem } from "./bind-rule.ts";
import { type BridgeBlock, bridgeBlockSchema } from "./blocks/access-block.ts";
import {
  type ClusterBlock,
  type ClusterSettings,
  clusterBlockSchema,
  clusterSettings,
} from "./blocks/cluster-block.ts";
import { folderSchema } from "./blocks/folder-path.ts";
import type { TlsBlock } from "./blocks/tls-block.ts";
import {
  camelCase,
  type EngineOptionSettings,
  engineOptions,
  optionFacts,
  valueOfText,
  withoutDefault,
} from "./engine-options.ts";
import { PORT_VARIABLES } from "./environment-variables.ts";
import {
  type addressBlockSchema,
  collide,
  DEFAULT_BRIDGE,
  DEFAULT_HTTP,
  DEFAULT_REALTIME,
  portSchema,
} from "./listen-address.ts";
import type { NodeShare } from "./node-share.ts";
import type {
  BridgeListener,
  EffectiveSetting,
  EngineSettings,
  ListenAddress,
  SettingSource,
  TlsFiles,
} from "./types.ts";

/** Settings from the command line. They override all other sources. Paths are relative to the working directory. */
export type ConfigOverrides = ListenerPorts & {
  /** Set if the engine is one of several engines that run the same config file. */
  readonly share?: NodeShare | undefined;
} & {
  readonly [Name in keyof EngineOptionSettings]?: EngineOptionSettings[Name] | undefined;
};

interface ListenerPorts {
  readonly bridgePort?: number | undefined;
  readonly httpPort?: number | undefined;
  readonly realtimePort?: number | undefined;
}

/** The `engine:` block of the config file. */
export const engineBlockSchema = z.strictObject({
  bridge: bridgeBlockSchema.optional().meta({ description: "Where workers connect. Default 127.0.0.1:49134" }),
  bridges: z.array(bridgeBlockSchema).max(16).optional().meta({
    description:
      "Further listeners for workers, each with the keys of `bridge` and its own port; e.g. a public one with rbac. Default none",
  }),
  cluster: clusterBlockSchema.optional(),
  ...engineOptions,
});
export type EngineBlock = z.output<typeof engineBlockSchema>;

/** `host`, `port` and `tls` of a block as written in the file. */
export type AddressBlock = z.output<typeof addressBlockSchema>;

export interface SettingInputs {
  /** Absolute path of the config file. */
  readonly file: string;
  readonly engine: EngineBlock;
  /** The `engine:` block as written, without defaults. */
  readonly given: Readonly<Record<string, unknown>>;
  /** Whether `.svc/token` exists. */
  readonly hasStoredToken: boolean;
  readonly http: AddressBlock;
  readonly realtime: AddressBlock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly overrides: ConfigOverrides;
  /** Base of relative paths in flags and variables. */
  readonly cwd: string;
}

export interface ResolvedSettings {
  readonly engine: EngineSettings;
  readonly http: ListenAddress;
  readonly realtime: ListenAddress;
  readonly effective: readonly EffectiveSetting[];
  /** Invalid variables and flags, and listeners that use the same port. */
  readonly problems: readonly FileProblem[];
}

/**
 * Resolves each setting. The sources are, in this order: flag, environment variable, file, default. An empty variable
 * counts as not set.
 */
export function resolveSettings(inputs: SettingInputs): ResolvedSettings {
  const { engine } = inputs;
  const resolver = new SettingResolver(inputs);
  const beside = (path: string): string => resolve(dirname(inputs.file), path);
  const tlsAt = (key: string, block: TlsBlock | undefined): { readonly tls?: TlsFiles } => {
    if (block === undefined) return {};
    resolver.note(`${key}.tls`, true);
    const { cert, key: privateKey, client_ca: ca } = block;
    return {
      tls: { cert: beside(cert), key: beside(privateKey), ...(ca === undefined ? {} : { clientCa: beside(ca) }) },
    };
  };
  const addressOf = (
    key: string,
    block: AddressBlock | undefined,
    {
      fallback,
      flag,
      variable,
    }: { readonly fallback: ListenAddress; readonly flag?: number | undefined; readonly variable?: string },
  ): ListenAddress => ({
    host: resolver.pick({ key: `${key}.host`, file: block?.host, fallback: fallback.host }),
    port: resolver.pick({
      key: `${key}.port`,
      flag,
      env: variable === undefined ? undefined : resolver.portFrom(variable),
      file: block?.port,
      fallback: fallback.port,
    }),
    ...tlsAt(key, block?.tls),
  });
  const bridge = addressOf("engine.bridge", engine.bridge, {
    fallback: DEFAULT_BRIDGE,
    flag: resolver.port("bridgePort"),
    variable: PORT_VARIABLES["engine.bridge.port"],
  });
  const http = addressOf("svc-http", inputs.http, {
    fallback: DEFAULT_HTTP,
    flag: resolver.port("httpPort"),
    variable: PORT_VARIABLES["svc-http.port"],
  });
  const realtime = addressOf("svc-stream", inputs.realtime, {
    fallback: DEFAULT_REALTIME,
    flag: resolver.port("realtimePort"),
    variable: PORT_VARIABLES["svc-stream.port"],
  });
  const options = resolver.options();
  const accessOf = (key: string, block: BridgeBlock, address: ListenAddress): BridgeListener["access"] => {
    const access = accessSettings(block, address, options);
    resolver.note(`${key}.token`, access.tokenRequired ? "required" : "optional", fileOrDefault(block.token));
    if (access.rbac !== undefined) resolver.note(`${key}.rbac`, true);
    if (access.middlewareFunctionId !== undefined)
      resolver.note(`${key}.middleware_function_id`, access.middlewareFunctionId);
    return access;
  };
  const bridgeAccess = accessOf("engine.bridge", engine.bridge ?? {}, bridge);
  const bridges = (engine.bridges ?? []).map((block, index): BridgeListener => {
    const key = `engine.bridges[${index}]`;
    const address = addressOf(key, block, { fallback: DEFAULT_BRIDGE });
    return { address, access: accessOf(key, block, address) };
  });
  resolver.refuseBinds(
    {
      "engine.bridge": { address: bridge, access: bridgeAccess },
      "svc-http": { address: http },
      "svc-stream": { address: realtime },
    },
    bridges,
    { ...options, hasToken: options.token !== undefined || inputs.hasStoredToken },
  );
  resolver.refuseSharedTokens([bridgeAccess, ...bridges.map(({ access }) => access)], options.token);
  const { share } = inputs.overrides;
  const block = share?.cluster ?? engine.cluster;
  const cluster = block && clusterSettings(block, beside);
  if (block !== undefined && cluster !== undefined)
    noteCluster(resolver, { block, cluster, source: share === undefined ? "file" : "flag" });
  const settings: EngineSettings = { ...options, bridge, bridgeAccess, bridges, cluster };
  resolver.refuseCollisions({
    "the worker socket (engine.bridge)": bridge,
    "the HTTP listener (svc-http)": http,
    "the real-time listener (svc-stream)": realtime,
    ...Object.fromEntries(bridges.map(({ address }, index) => [`engine.bridges[${index}]`, address])),
  });
  return { engine: settings, http, realtime, effective: resolver.effective, problems: resolver.problems };
}

function fileOrDefault(given: unknown): SettingSource {
  return given === undefined ? "default" : "file";
}

function noteCluster(
  resolver: SettingResolver,
  {
    block,
    cluster: { name, node, nats },
    source,
  }: { readonly block: ClusterBlock; readonly cluster: ClusterSettings; readonly source: "file" | "flag" },
): void {
  const key = "engine.cluster";
  const given = (value: unknown): SettingSource => (value === undefined ? "default" : source);
  resolver.note(`${key}.name`, name, source);
  resolver.note(`${key}.node`, node, given(block.node));
  resolver.note(`${key}.nats.servers`, nats.servers, source);
  resolver.note(`${key}.nats.replicas`, nats.replicas, given(block.nats.replicas));
  for (const name of ["nkey_seed", "user", "password", "token"] as const)
    if (block.nats[name] !== undefined) resolver.noteSecret(`${key}.nats.${name}`);
  if (nats.credentials !== undefined) resolver.note(`${key}.nats.credentials`, nats.credentials);
  for (const [name, file] of Object.entries(nats.tls ?? {}))
    if (file !== undefined) resolver.note(`${key}.nats.tls.${name}`, file);
}

interface Candidates<T> {
  readonly key: string;
  readonly flag?: T | undefined;
  readonly env?: T | undefined;
  readonly file: T | undefined;
  readonly fallback: T;
}

interface OptionInFile {
  readonly key: string;
  readonly name: string;
  readonly schema: z.ZodType;
  /** Value in the file, or the default. */
  readonly value: unknown;
  readonly isGiven: boolean;
}

function sourceOf({
  flag,
  env,
  file,
}: {
  readonly flag?: unknown;
  readonly env?: unknown;
  readonly file?: unknown;
}): SettingSource {
  return flag !== undefined ? "flag" : env !== undefined ? "env" : file !== undefined ? "file" : "default";
}

/** Returns an own member of an object; undefined for other values. */
export function memberOf(value: unknown, name: string | number): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (Reflect.get(value, name) as unknown)
    : undefined;
}

class SettingResolver {
  readonly effective: EffectiveSetting[] = [];
  readonly problems: FileProblem[] = [];
  readonly #inputs: SettingInputs;

  constructor(inputs: SettingInputs) {
    this.#inputs = inputs;
  }

  pick<T extends EffectiveSetting["value"]>({ key, flag, env, file, fallback }: Candidates<T>): T {
    const value = flag ?? env ?? file ?? fallback;
    this.effective.push({ key, value, source: sourceOf({ flag, env, file }) });
    return value;
  }

  /** Records a setting that has only this value, so that no source has to be chosen. */
  note(key: string, value: EffectiveSetting["value"], source: SettingSource = "file"): void {
    this.effective.push({ key, value, source });
  }

  /** Records a secret that only the file can set. */
  noteSecret(key: string): void {
    this.effective.push({ key, value: MASK, source: "file", secret: true });
  }

  /** Resolves all `engineOptions`. */
  options(): EngineOptionSettings {
    const { engine, given } = this.#inputs;
    return this.#block("engine", engineOptions, { values: engine, given }) as EngineOptionSettings;
  }

  #block(
    path: string,
    schemas: Readonly<Record<string, z.ZodType>>,
    { values, given }: { readonly values: object; readonly given: unknown },
  ): Readonly<Record<string, unknown>> {
    const settings = Object.entries(schemas).map(([name, schema]) => {
      const key = `${path}.${name}`;
      const value = memberOf(values, name);
      const written = memberOf(given, name);
      const inner = withoutDefault(schema);
      if (inner instanceof z.ZodObject)
        return [camelCase(name), this.#block(key, inner.shape, { values: value as object, given: written })];
      return [camelCase(name), this.#option({ key, name, schema, value, isGiven: written !== undefined })];
    });
    return Object.fromEntries(settings) as Readonly<Record<string, unknown>>;
  }

  #option({ key, name, schema, value, isGiven }: OptionInFile): EffectiveSetting["value"] | undefined {
    const { env, isPath, secret } = optionFacts.get(schema) ?? {};
    const { file, overrides } = this.#inputs;
    const inFile = (isPath === true ? resolve(dirname(file), value as string) : value) as
      | EffectiveSetting["value"]
      | undefined;
    const flag = memberOf(overrides, camelCase(name)) as EffectiveSetting["value"] | undefined;
    const sources = {
      flag:
        isPath === true
          ? this.path(flag as string | undefined, `${key} of the command line`)
          : this.#fromFlag(key, schema, flag),
      env: env === undefined ? undefined : this.#fromVariable(env, schema, isPath),
      file: isGiven ? inFile : undefined,
    };
    const inForce = sources.flag ?? sources.env ?? sources.file ?? inFile;
    if (secret !== undefined && inForce !== undefined) {
      this.effective.push({ key, value: MASK, source: sourceOf(sources), secret: true });
      return inForce;
    }
    const shown = inForce ?? secret?.unset;
    if (shown !== undefined) this.effective.push({ key, value: shown, source: sourceOf(sources) });
    return inForce;
  }

  variable(name: string): string | undefined {
    const { env } = this.#inputs;
    const text = Object.hasOwn(env, name) ? env[name]?.trim() : undefined;
    return text === "" ? undefined : text;
  }

  port(flag: "bridgePort" | "httpPort" | "realtimePort"): number | undefined {
    const port = this.#inputs.overrides[flag];
    if (port === undefined || portSchema.safeParse(port).success) return port;
    this.#refuse(`the port ${port} of the command line must be an integer from 0 to 65535`);
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

  #fromFlag(key: string, schema: z.ZodType, value: unknown): EffectiveSetting["value"] | undefined {
    if (value === undefined) return undefined;
    const inner = withoutDefault(schema);
    const parsed = inner.safeParse(typeof value === "string" ? valueOfText(inner, value) : value);
    if (parsed.success) return parsed.data as EffectiveSetting["value"];
    this.#refuse(`${key} of the command line: ${parsed.error.issues[0]?.message ?? "is not valid"}`);
    return undefined;
  }

  /**
   * Returns an option's value from its environment variable. Problems never quote the value, since it may be a secret.
   */
  #fromVariable(name: string, schema: z.ZodType, isPath: boolean | undefined): EffectiveSetting["value"] | undefined {
    const text = this.variable(name);
    if (text === undefined) return undefined;
    if (isPath === true) return this.path(text, name);
    const inner = withoutDefault(schema);
    if (inner instanceof z.ZodEnum) return this.#word(name, text, inner.options.map(String));
    const parsed = inner.safeParse(valueOfText(inner, text));
    if (parsed.success) return parsed.data as EffectiveSetting["value"];
    this.#refuse(`the environment variable ${name} ${parsed.error.issues[0]?.message ?? "is not valid"}`);
    return undefined;
  }

  #word(name: string, text: string, words: readonly string[]): string | undefined {
    const word = words.find((known) => known === text.toLowerCase());
    if (word === undefined)
      this.#refuse(
        `the environment variable ${name} must be one of ${words.join(", ")}, got ${JSON.stringify(text)}${didYouMean(text, words)}`,
      );
    return word;
  }

  path(text: string | undefined, what: string): string | undefined {
    if (text === undefined) return undefined;
    const parsed = folderSchema.safeParse(text);
    if (parsed.success) return resolve(this.#inputs.cwd, parsed.data);
    this.#refuse(`${what} is not a valid path: ${parsed.error.issues.map((issue) => issue.message).join(", ")}`);
    return undefined;
  }

  refuseCollisions(listeners: Readonly<Record<string, ListenAddress>>): void {
    const entries = Object.entries(listeners);
    for (const [index, [name, address]] of entries.entries()) {
      const other = entries.slice(0, index).find(([, earlier]) => collide(earlier, address));
      if (other) this.#refuse(`${other[0]} and ${name} both use port ${address.port}; change one of them`);
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

  /** Rejects a token that occurs twice, because its holder would get the stronger of the two rights. */
  refuseSharedTokens(listeners: readonly BridgeListener["access"][], engineToken: string | undefined): void {
    for (const { rbac } of listeners) {
      const seen = new Map<string, string>();
      for (const { token, role } of rbac?.tokens ?? []) {
        if (token === engineToken)
          this.#refuse(`the token of the role ${role} is the engine's own token (engine.token); give the role another`);
        const other = seen.get(token);
        if (other !== undefined)
          this.#refuse(`two entries of rbac.tokens, of the roles ${other} and ${role}, have the same token`);
        seen.set(token, role);
      }
    }
  }

  #refuse(message: string): void {
    this.problems.push({ line: undefined, column: undefined, key: undefined, message });
  }
}
