import { resolve } from "node:path";
import { z } from "zod";
import { defaultEnvFile, type EnvFile } from "../../local-workers/env-file.ts";
import type { KeyPath, YamlSource } from "../../yaml/source.ts";
import { folderSchema } from "./folder-path.ts";
import { dependsOnSchema, environmentSchema, limitsSchema, watchPatternsSchema } from "./supervision-block.ts";

/** Maximum number of processes of one entry. */
export const MAX_REPLICAS = 64;

/** Maximum number of `env_file` paths of one entry. */
const MAX_ENV_FILES = 16;

/** An entry of `workers:` with a `path`. */
export const localWorkerSchema = z.strictObject({
  name: z.string().meta({ description: "Unique name, shown in listings and used for log files" }),
  path: folderSchema.optional().meta({ description: "Folder of the worker, relative to this file" }),
  worker_path: folderSchema.optional().meta({ description: "Older name of path" }),
  replicas: z.int().min(1).max(MAX_REPLICAS).optional().meta({ description: "How many processes. Default 1" }),
  watch: z.union([z.boolean(), watchPatternsSchema]).optional().meta({
    description:
      "Whether the worker restarts when its source changes, and for which files. Default true: all files of its folder, except generated ones",
  }),
  overlap: z.boolean().optional().meta({
    description:
      "true: on a restart, the old process serves until the new one is ready. false: the old process stops before the new one starts, for a worker that cannot run twice at the same time. Default true",
  }),
  restart_order: z
    .enum(["start_first", "stop_first"])
    .optional()
    .meta({ description: "Older form: stop_first means overlap: false" }),
  depends_on: dependsOnSchema.optional(),
  limits: limitsSchema.optional(),
  env: environmentSchema.optional().meta({ description: "Environment variables of the worker's processes" }),
  env_file: z
    .union([z.literal(false), folderSchema, z.array(folderSchema).max(MAX_ENV_FILES)])
    .optional()
    .meta({
      description:
        "Files with lines of NAME=value, relative to this file; false: none. Default: .env in the worker's folder, if it exists",
    }),
  config: z
    .record(z.string(), z.unknown())
    .nullish()
    .meta({ description: "Passed to the worker as environment variables: db.host becomes DB_HOST" }),
});
type LocalWorkerBlock = z.output<typeof localWorkerSchema>;

/** Returns the env files of an entry. `folder` is the worker's folder, `base` the folder of the config file. */
export function envFilesOf(
  { env_file: named }: LocalWorkerBlock,
  { folder, base }: { readonly folder: string; readonly base: string },
): readonly EnvFile[] {
  if (named === undefined) return [defaultEnvFile(folder)];
  if (named === false) return [];
  return [named].flat().map((path) => ({ path: resolve(base, path), required: true }));
}

/**
 * Returns the environment variables of a local worker. They come from `config`, with flattened names, and from `env`,
 * which takes precedence. Numbers keep their spelling in the file.
 */
export function readEnvironment(block: LocalWorkerBlock, path: KeyPath, yaml: YamlSource): Record<string, string> {
  const variables = new Map<string, string>();
  flatten(block.config ?? {}, { prefix: "", path: [...path, "config"], yaml, into: variables });
  for (const [name, value] of Object.entries(block.env ?? {}))
    variables.set(name, yaml.writtenTextOf([...path, "env", name]) ?? String(value));
  return Object.fromEntries(variables);
}

function flatten(
  value: Readonly<Record<string, unknown>>,
  target: {
    readonly prefix: string;
    readonly path: KeyPath;
    readonly yaml: YamlSource;
    readonly into: Map<string, string>;
  },
): void {
  for (const [key, inner] of Object.entries(value)) {
    const name = `${target.prefix}${key.toUpperCase().replace(/[^A-Z0-9_]/g, "_")}`;
    const path = [...target.path, key];
    if (inner === null || inner === undefined) continue;
    if (Array.isArray(inner)) target.into.set(name, JSON.stringify(inner));
    else if (typeof inner === "object")
      flatten(inner as Record<string, unknown>, { ...target, prefix: `${name}_`, path });
    else target.into.set(name, target.yaml.writtenTextOf(path) ?? String(inner));
  }
}
