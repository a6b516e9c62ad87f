import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { type FileProblem, inFileOrder } from "../yaml/problem.ts";
import { kindOf, schemaProblems, unknownKey } from "../yaml/schema-problems.ts";
import { readYaml, type YamlSource } from "../yaml/source.ts";
import { lookupIn } from "../yaml/variables.ts";
import type { BridgeBlock } from "./blocks/access-block.ts";
import type { HttpFunctionsBlock } from "./blocks/http-functions-block.ts";
import { type ConfigOverrides, type EngineBlock, engineBlockSchema, resolveSettings } from "./engine-settings.ts";
import { shareOf, withOwnFolders, withOwnPorts, withOwnTelemetry } from "./node-share.ts";
import { withTelemetryVariables } from "./telemetry-variables.ts";
import { hasStoredToken } from "./token-file.ts";
import { ConfigError, type LoadedConfig } from "./types.ts";
import { type KnownModules, readEntries } from "./worker-entries.ts";

/** Maximum size of a config file, in bytes. */
export const MAX_CONFIG_BYTES = 1_048_576;

export interface LoadOptions {
  /**
   * Environment variables, usually `process.env`. They replace `${NAME}` in the file, and contain the `SVC_*` settings.
   */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Settings from the command line. */
  readonly overrides?: ConfigOverrides;
  /** Modules of this engine. */
  readonly modules: KnownModules;
  /**
   * Whether `.svc/token` exists. `loadConfig` checks it by itself if this is absent. Default of `parseConfig`: false.
   */
  readonly hasStoredToken?: boolean;
  /** Base of relative paths in flags and variables. Default: the working directory. */
  readonly cwd?: string;
}

/**
 * Reads and checks a config file. Throws ConfigError with all problems, in the order of the file. If the text is not
 * YAML, this is the only problem in the error.
 */
export function loadConfig(file: string, options: LoadOptions): LoadedConfig {
  const absolute = resolve(options.cwd ?? process.cwd(), file);
  return parseConfig(absolute, readConfigText(absolute), { hasStoredToken: hasStoredToken(absolute), ...options });
}

/**
 * Like `loadConfig`, but for a text that is already read. `file` is the absolute path, for messages and relative paths.
 */
export function parseConfig(file: string, text: string, options: LoadOptions): LoadedConfig {
  const { source: yaml, problems } = readYaml(text, lookupIn(options.env));
  if (yaml === undefined) throw new ConfigError(file, problems);
  const top = yaml.value ?? {};
  if (!isBlock(top)) {
    throw new ConfigError(file, [
      {
        ...NO_PLACE,
        ...yaml.positionOf([]),
        message: `the file must be a block of keys (workers, engine), got ${kindOf(top)}; the smallest one is \`workers: []\``,
      },
    ]);
  }
  const { share } = options.overrides ?? {};
  const clusteredBy = share !== undefined ? "command line" : hasClusterBlock(top) ? "file" : "nothing";
  const entries = readEntries(top, { file, yaml, modules: options.modules, clusteredBy });
  const engine = readEngineBlock(withOlderHttpFunctions(top, entries.httpFunctions), yaml);
  const { bridge, warnings } = mergeBridge(engine.block.bridge, entries);
  const resolved = resolveSettings({
    file,
    engine: {
      ...engine.block,
      ...(bridge === undefined ? {} : { bridge }),
      bridges: withOwnPorts([...(engine.block.bridges ?? []), ...entries.furtherBridges], share),
    },
    given: engine.given,
    hasStoredToken: options.hasStoredToken ?? false,
    http: entries.http,
    realtime: entries.realtime,
    env: options.env,
    overrides: withOwnFolders(options.overrides ?? {}),
    cwd: options.cwd ?? process.cwd(),
  });
  const all = inFileOrder([
    ...problems,
    ...unknownTopKeys(top, yaml),
    ...engine.problems,
    ...entries.problems,
    ...resolved.problems,
  ]);
  if (all.length > 0) throw new ConfigError(file, all, entries.folders);
  const telemetry = withTelemetryVariables(entries.modules, options.env, options.modules);
  return {
    file,
    revision: revisionOf(text),
    engine: resolved.engine,
    http: resolved.http,
    realtime: resolved.realtime,
    modules: withOwnTelemetry(telemetry.modules, share),
    ...shareOf(entries, share),
    effective: [...resolved.effective, ...telemetry.effective],
    warnings: [...entries.warnings, ...warnings, ...telemetry.warnings],
  };
}

function hasClusterBlock(top: Readonly<Record<string, unknown>>): boolean {
  return isBlock(top.engine) && top.engine.cluster !== undefined && top.engine.cluster !== null;
}

/** Returns a hash of a config file's content. */
export function revisionOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

const NO_PLACE = { line: undefined, column: undefined, key: undefined };

/** Reads a config file as text. Throws ConfigError if it is missing, unreadable, too large or not UTF-8. */
export function readConfigText(file: string): string {
  const refuse = (message: string): ConfigError => new ConfigError(file, [{ ...NO_PLACE, message }]);
  let bytes: Buffer;
  try {
    const stats = statSync(file);
    // Check this before opening, because opening a pipe or reading a device could block forever.
    if (!stats.isFile())
      throw refuse(stats.isDirectory() ? "is a folder; pass the config file in it" : "is not a regular file");
    if (stats.size > MAX_CONFIG_BYTES)
      throw refuse(`is larger than the maximum of ${MAX_CONFIG_BYTES} bytes (${stats.size})`);
    bytes = readFileSync(file);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw refuse(unreadable(error));
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw refuse("is not UTF-8 text; save it as UTF-8");
  }
}

function unreadable(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT")
    return "there is no such file; create it with the line `workers: []`, or pass another with --config";
  if (code === "EACCES" || code === "EPERM") return "cannot be read: permission denied";
  return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
}

function isBlock(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const TOP_KEYS = ["workers", "engine"];
const ACCEPTED_TOP_KEYS: ReadonlySet<string> = new Set([...TOP_KEYS, "modules"]);

function unknownTopKeys(top: Readonly<Record<string, unknown>>, yaml: YamlSource): FileProblem[] {
  const unknown = Object.keys(top).filter((key) => !ACCEPTED_TOP_KEYS.has(key));
  return unknown.map((key) => {
    const problem = unknownKey(key, { path: [], yaml, known: TOP_KEYS });
    const belongsBelow = Object.hasOwn(engineBlockSchema.shape, key)
      ? key
      : key === "port" || key === "host"
        ? `bridge.${key}`
        : undefined;
    return belongsBelow === undefined
      ? problem
      : { ...problem, message: `is not a top-level key; write it as engine.${belongsBelow}` };
  });
}

/** Applies the entry for HTTP functions of older files. Keys in the engine block take precedence. */
function withOlderHttpFunctions(
  top: Readonly<Record<string, unknown>>,
  older: HttpFunctionsBlock | undefined,
): Readonly<Record<string, unknown>> {
  const engine = top.engine ?? {};
  if (older === undefined || !isBlock(engine)) return top;
  const own = engine.http_functions ?? {};
  return isBlock(own) ? { ...top, engine: { ...engine, http_functions: { ...older, ...own } } } : top;
}

interface EngineBlockOfFile {
  readonly block: EngineBlock;
  /** The block as written, without defaults. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly problems: readonly FileProblem[];
}

function readEngineBlock(top: Readonly<Record<string, unknown>>, yaml: YamlSource): EngineBlockOfFile {
  // The value is null if every line below `engine:` is commented out. This counts as an empty block.
  const value = top.engine ?? {};
  const parsed = engineBlockSchema.safeParse(value);
  if (parsed.success) return { block: parsed.data, given: value as Readonly<Record<string, unknown>>, problems: [] };
  return {
    block: engineBlockSchema.parse({}),
    given: {},
    problems: schemaProblems(parsed.error.issues, { schema: engineBlockSchema, value, base: ["engine"], yaml }),
  };
}

/** Applies the entry for the worker socket of older files. Keys in the engine block take precedence. */
function mergeBridge(
  block: BridgeBlock | undefined,
  entries: { readonly bridge: BridgeBlock | undefined },
): { readonly bridge: BridgeBlock | undefined; readonly warnings: readonly string[] } {
  if (entries.bridge === undefined || block === undefined) return { bridge: block ?? entries.bridge, warnings: [] };
  const overruled = (["host", "port"] as const).filter(
    (part) => block[part] !== undefined && entries.bridge?.[part] !== undefined && block[part] !== entries.bridge[part],
  );
  return {
    bridge: { ...entries.bridge, ...block },
    warnings: overruled.map(
      (part) => `engine.bridge.${part} (${block[part]}) overrides the older entry (${entries.bridge?.[part]})`,
    ),
  };
}
