import { z } from "zod";
import { localWorkerSchema } from "./blocks/local-worker-block.ts";
import { engineBlockSchema } from "./engine-settings.ts";
import type { KnownModules } from "./worker-entries.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Returns the JSON Schema of the config file, for editors. Numbers and booleans may also be written as `${NAME}`. */
export function configJsonSchema(modules: KnownModules): JsonSchema {
  const entries = [
    ...modules.map((module) => z.strictObject({ name: z.literal(module.name), config: module.config.optional() })),
    localWorkerSchema.omit({ worker_path: true }).required({ path: true }),
  ];
  const file = z.strictObject({
    workers: z.array(z.union(entries)).optional().meta({ description: "Modules to load, and workers to start" }),
    engine: engineBlockSchema.optional().meta({ description: "The engine's own settings" }),
  });
  return allowVariables(z.toJSONSchema(file, { io: "input", unrepresentable: "any" }));
}

const VARIABLE = { type: "string", pattern: "^\\$\\{[A-Za-z_][A-Za-z0-9_]*(:[^}]*)?\\}$" } as const;

function allowVariables<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(allowVariables) as T;
  if (typeof schema !== "object" || schema === null) return schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, DATA_KEYS.has(key) ? value : allowVariables(value as unknown)]),
  );
  if (!("type" in inner) || !SCALARS.has(inner.type)) return inner as T;
  const { description, default: fallback, ...rest } = inner;
  const about = Object.fromEntries(
    Object.entries({ description, default: fallback }).filter(([, value]) => value !== undefined),
  );
  return { ...about, anyOf: [rest, VARIABLE] } as T;
}

const SCALARS: ReadonlySet<unknown> = new Set(["integer", "number", "boolean"]);
/** Members of a schema that contain values instead of schemas. */
const DATA_KEYS: ReadonlySet<string> = new Set(["default", "const", "enum", "examples", "required"]);
