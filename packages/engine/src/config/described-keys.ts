import type { z } from "zod";
import { configJsonSchema } from "./config-json-schema.ts";
import type { KnownModules } from "./worker-entries.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Description of one key of the config file. */
export interface DescribedKey {
  /**
   * Name of the key: `engine.bridge.port`, `svc-http.port` (a key of the module's `config`), or `workers[].replicas` (a
   * key of a local worker's entry).
   */
  readonly key: string;
  /** Names of the nested keys below `engine`, the module's `config` or the worker's entry. */
  readonly path: readonly string[];
  /** E.g. `integer`, or `text: debug, info`. */
  readonly type: string;
  readonly description: string;
  /** Default value. Undefined if there is none, or if only the description states it. */
  readonly default: unknown;
  /** Names of the alternatives of the block that have the key, e.g. `redis`. Empty if all alternatives have it. */
  readonly only: readonly string[];
}

/** This adapter name is accepted for older files, but not documented. */
const OLDER_ADAPTER = "kv";
export const LOCAL_WORKER = "workers[]";

/** Cache, because creating the JSON Schema takes 40 ms, during which the engine does nothing else. */
const keysOf = new WeakMap<KnownModules, readonly DescribedKey[]>();

/**
 * Returns every key that a config file can have. The keys of the engine come first. Computed once per list of modules.
 */
export function describedKeys(modules: KnownModules): readonly DescribedKey[] {
  const known = keysOf.get(modules) ?? collectKeys(modules);
  keysOf.set(modules, known);
  return known;
}

function collectKeys(modules: KnownModules): readonly DescribedKey[] {
  const { workers, engine } = configJsonSchema(modules).properties ?? {};
  const entries = alternatives(asSchema(asSchema(workers).items)).flatMap((entry) => {
    const name = asSchema(entry.properties?.name).const;
    return typeof name === "string"
      ? keysBelow(asSchema(entry.properties?.config), name, [])
      : keysBelow(entry, LOCAL_WORKER, []);
  });
  return [...keysBelow(asSchema(engine), "engine", []), ...entries];
}

function keysBelow(
  schema: JsonSchema,
  base: string,
  path: readonly string[],
  only: readonly string[] = [],
): DescribedKey[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const member = asSchema(property);
    const here = [...path, name];
    const described: DescribedKey = {
      key: `${base}.${here.join(".")}`,
      path: here,
      type: typeInWords(member),
      description: member.description ?? "",
      default: member.default,
      only,
    };
    return [
      described,
      ...merged(alternatives(member).flatMap((option) => keysBelow(option, base, here, chosenBy(option) ?? only))),
    ];
  });
}

/** Returns the constant `name` that selects this alternative. Undefined if there is none. */
function chosenBy(option: JsonSchema): readonly string[] | undefined {
  const name = asSchema(option.properties?.name).const;
  return typeof name === "string" ? [name] : undefined;
}

/** Merges the descriptions of a key that several alternatives have into one description. */
function merged(keys: readonly DescribedKey[]): DescribedKey[] {
  const byKey = new Map<string, DescribedKey>();
  for (const next of keys) {
    const known = byKey.get(next.key);
    const type = known === undefined || known.type === next.type ? next.type : `${known.type} or ${next.type}`;
    byKey.set(
      next.key,
      known === undefined ? next : { ...known, type, only: [...new Set([...known.only, ...next.only])] },
    );
  }
  return [...byKey.values()];
}

function alternatives(schema: JsonSchema): readonly JsonSchema[] {
  const options = schema.anyOf ?? schema.oneOf;
  if (options === undefined) return [schema];
  return options.map(asSchema).filter((option) => !isVariable(option) && chosenBy(option)?.[0] !== OLDER_ADAPTER);
}

/** True for the schema of `${NAME}`, which `configJsonSchema` adds to each number and boolean. */
function isVariable({ type, pattern }: JsonSchema): boolean {
  return type === "string" && pattern?.startsWith("^\\$") === true;
}

function typeInWords(schema: JsonSchema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(String).join(" | ");
  const options = alternatives(schema).filter(({ type }) => type !== "null");
  if (schema.anyOf !== undefined || schema.oneOf !== undefined) {
    const names = options.flatMap((option) => chosenBy(option) ?? []);
    return names.length > 0 && names.length === options.length
      ? `block: ${names.join(" | ")}`
      : [...new Set(options.map(typeInWords))].join(" or ");
  }
  if (schema.type === "array") return `list of ${typeInWords(asSchema(schema.items))}`;
  if (schema.type === "object") return "block";
  if (schema.type === "string") return "text";
  const words = typeof schema.type === "string" ? schema.type : "any";
  return `${words}${rangeInWords(schema)}`;
}

/** Omits the bounds of a safe integer, because Zod adds them to every integer. */
function rangeInWords({ type, minimum, maximum }: JsonSchema): string {
  const least =
    minimum === undefined || (type === "integer" && minimum <= Number.MIN_SAFE_INTEGER) ? undefined : minimum;
  const most =
    maximum === undefined || (type === "integer" && maximum >= Number.MAX_SAFE_INTEGER) ? undefined : maximum;
  if (least === undefined) return most === undefined ? "" : ` up to ${most}`;
  return most === undefined ? ` from ${least}` : ` from ${least} to ${most}`;
}

function asSchema(value: unknown): JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonSchema) : {};
}
