import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { type FileProblem, inFileOrder } from "../yaml/problem.ts";
import { kindOf, schemaProblems, unknownKey } from "../yaml/schema-problems.ts";
import { readYaml, type YamlSource } from "../yaml/source.ts";
import { lookupIn } from "../yaml/variables.ts";
import type { BridgeBlock } from "./access-block.ts";
import { type ConfigOverrides, type EngineBlock, engineBlockSchema, settle } from "./engine-settings.ts";
import type { HttpFunctionsBlock } from "./http-functions-block.ts";
import { withTelemetryVariables } from "./telemetry-variables.ts";
import { hasStoredToken } from "./token-file.ts";
import { ConfigError, type LoadedConfig } from "./types.ts";
import { type KnownModules, readEntries } from "./worker-entries.ts";

/** Largest config file, in bytes. */
export const MAX_CONFIG_BYTES = 1_048_576;

export interface LoadOptions {
  /** Fills `${NAME}` and gives the `SVC_*` settings. Usually `process.env`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the command line says. */
  readonly overrides?: ConfigOverrides;
  /** The modules that this engine has. */
  readonly modules: KnownModules;
  /** Whether `.svc/token` is there. `loadConfig` looks itself; default false. */
  readonly hasStoredToken?: boolean;
  /** What relative paths of flags and variables are relative to. Default the working directory. */
  readonly cwd?: string;
}

/**
 * Reads and checks a config file. Throws ConfigError with everything that is wrong with it, in the order of the file;
 * when the text is no YAML, with that alone. Changes nothing.
 */
export function loadConfig(file: string, options: LoadOptions): LoadedConfig {
  const absolute = resolve(options.cwd ?? process.cwd(), file);
  return parseConfig(absolute, readConfigText(absolute), { hasStoredToken: hasStoredToken(absolute), ...options });
}

/** As `loadConfig`, for a text in hand. `file` is its absolute path, for messages and relative paths. */
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
  const entries = readEntries(top, { file, yaml, modules: options.modules });
  const engine = readEngineBlock(withOlderHttpFunctions(top, entries.httpFunctions), yaml);
  const { bridge, warnings } = mergeBridge(engine.block.bridge, entries);
  const settled = settle({
    file,
    engine: {
      ...engine.block,
      ...(bridge === undefined ? {} : { bridge }),
      bridges: [...(engine.block.bridges ?? []), ...entries.furtherBridges],
    },
    given: engine.given,
    hasStoredToken: options.hasStoredToken ?? false,
    http: entries.http,
    realtime: entries.realtime,
    env: options.env,
    overrides: options.overrides ?? {},
    cwd: options.cwd ?? process.cwd(),
  });
  const all = inFileOrder([...problems, ...unknownTopKeys(top, yaml), ...engine.problems, ...entries.problems, ...settled.problems]);
  if (all.length > 0) throw new ConfigError(file, all, entries.folders);
  const telemetry = withTelemetryVariables(entries.modules, options.env, options.modules);
  return {
    file,
    revision: revisionOf(text),
    engine: settled.engine,
    http: settled.http,
    realtime: settled.realtime,
    modules: telemetry.modules,
    localWorkers: entries.localWorkers,
    commands: entries.commands,
    effective: [...settled.effective, ...telemetry.effective],
    warnings: [...entries.warnings, ...warnings, ...telemetry.warnings],
  };
}

/** The same for equal contents of a config file, different for different ones. */
export function revisionOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

const NO_PLACE = { line: undefined, column: undefined, key: undefined };

/** Reads a config file as text. Throws ConfigError when it is missing, unreadable, too large or no UTF-8. */
export function readConfigText(file: string): string {
  const refuse = (message: string): ConfigError => new ConfigError(file, [{ ...NO_PLACE, message }]);
  let bytes: Buffer;
  try {
    const stats = statSync(file);
    // Asked before opening: reading a pipe or a device would wait for ever.
    if (!stats.isFile()) throw refuse(stats.isDirectory() ? "is a folder; name the config file in it" : "is not a regular file");
    if (stats.size > MAX_CONFIG_BYTES) throw refuse(`is larger than ${MAX_CONFIG_BYTES} bytes (${stats.size}); a config file is a few kilobytes`);
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
  if (code === "ENOENT") return "there is no such file; create it with the line `workers: []`, or name another with --config";
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
    const belongsBelow = Object.hasOwn(engineBlockSchema.shape, key) ? key : key === "port" || key === "host" ? `bridge.${key}` : undefined;
    return belongsBelow === undefined ? problem : { ...problem, message: `is not known at the top of the file; write it as engine.${belongsBelow}` };
  });
}

/** The older entry for URL functions counts where the engine block sets nothing. */
function withOlderHttpFunctions(top: Readonly<Record<string, unknown>>, older: HttpFunctionsBlock | undefined): Readonly<Record<string, unknown>> {
  const engine = top.engine ?? {};
  if (older === undefined || !isBlock(engine)) return top;
  const own = engine.http_functions ?? {};
  return isBlock(own) ? { ...top, engine: { ...engine, http_functions: { ...older, ...own } } } : top;
}

interface EngineBlockOfFile {
  readonly block: EngineBlock;
  /** As written, without defaults. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly problems: readonly FileProblem[];
}

function readEngineBlock(top: Readonly<Record<string, unknown>>, yaml: YamlSource): EngineBlockOfFile {
  // `engine:` with every line below it commented out is an empty block.
  const value = top.engine ?? {};
  const parsed = engineBlockSchema.safeParse(value);
  if (parsed.success) return { block: parsed.data, given: value as Readonly<Record<string, unknown>>, problems: [] };
  return {
    block: engineBlockSchema.parse({}),
    given: {},
    problems: schemaProblems(parsed.error.issues, { schema: engineBlockSchema, value, base: ["engine"], yaml }),
  };
}

/** The older entry for the worker socket counts where the engine block is silent. */
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
    warnings: overruled.map((part) => `engine.bridge.${part} (${block[part]}) wins over the older entry (${entries.bridge?.[part]})`),
  };
}
