import { z } from "zod";
import { packageManagers, runtimeKinds } from "./runtime-kinds.ts";

/** Expected values, for messages. */
export const ENTRY = "the file to run, relative to the worker's folder, e.g. `src/worker.ts`";
export const START_COMMAND = "a shell command, e.g. `python math_worker.py`";

const text = (what: string) => z.string({ error: `must be ${what}` }).min(1, { error: `must be ${what}` });
const description = z.string({ error: "must be text" }).optional();
const entry = text(ENTRY).optional();
const install = text("a shell command, e.g. `pip install -r requirements.txt`").optional();
const start = text(START_COMMAND).optional();
const ignore = z
  .array(text("a file or folder name"), { error: 'must be a list of file or folder names, e.g. `["data", "*.csv"]`' })
  .optional();
const envMap = z
  .record(
    z.string(),
    z.union([z.string(), z.number(), z.boolean()], { error: "must be text, a number, true or false" }),
    {
      error: "must be a block of variable names and values",
    },
  )
  .optional();
/** `node` is another name for `javascript`. */
const kindSchema = z.enum([...runtimeKinds, "node"], { error: `must be one of ${runtimeKinds.join(", ")}` });

/** Schema of `svc.worker.yaml`. */
export const manifestShape = z.strictObject(
  {
    name: text("the worker's name, e.g. `math-worker`"),
    description,
    runtime: z.strictObject(
      { kind: kindSchema, package_manager: z.enum(packageManagers).optional(), entry },
      blockOf("`kind`, `package_manager` and `entry`"),
    ),
    scripts: z.strictObject({ install, start }, blockOf("`install` and `start`")).optional(),
    env: envMap,
    watch: z
      .union([z.boolean(), z.strictObject({ ignore })], { error: "must be false, or a block with `ignore`" })
      .optional(),
  },
  blockOf("at least `name` and `runtime`"),
);

/**
 * Compatibility: schema of the reference system's `iii.worker.yaml`. Keys without a meaning here are accepted and
 * reported as ignored: image and size of a virtual machine, set-up as root, dependencies from a registry.
 */
export const referenceManifestShape = z.strictObject({
  name: text("the worker's name, e.g. `math-worker`").optional(),
  description,
  runtime: z
    .strictObject({
      kind: kindSchema.optional(),
      language: kindSchema.optional(),
      package_manager: z.enum(packageManagers).optional(),
      entry,
      base_image: z.unknown().optional(),
    })
    .optional(),
  resources: z.unknown().optional(),
  scripts: z.strictObject({ setup: z.unknown().optional(), install, start }).optional(),
  env: envMap,
  config: z.unknown().optional(),
  dependencies: z.unknown().optional(),
});

function blockOf(keys: string) {
  return {
    error: (issue: { readonly code?: string | undefined }) =>
      issue.code === "invalid_type" ? `must be a block with ${keys}` : undefined,
  };
}

/** Formats names for messages. */
export function listed(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}
