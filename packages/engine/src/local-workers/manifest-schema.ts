import { z } from "zod";
import { packageManagers, runtimeKinds } from "./runtime-kinds.ts";

const text = z.string().min(1);
const envValue = z.union([z.string(), z.number(), z.boolean()]);
/** `node` is another word for `javascript`. */
const kindSchema = z.enum([...runtimeKinds, "node"]);
const envMap = z.record(z.string(), envValue).optional();

/** `svc.worker.yaml` as it is written. */
export const manifestShape = z.strictObject({
  name: text,
  description: z.string().optional(),
  runtime: z.strictObject({
    kind: kindSchema,
    package_manager: z.enum(packageManagers).optional(),
    entry: text.optional(),
  }),
  scripts: z.strictObject({ install: text.optional(), start: text.optional() }).optional(),
  env: envMap,
  watch: z.union([z.boolean(), z.strictObject({ ignore: z.array(text).optional() })]).optional(),
});

/**
 * Compatibility (decision 29): `iii.worker.yaml` of the reference system. Keys that have no meaning here (virtual machine image and
 * size, set-up as root, registry dependencies) are understood and named as ignored.
 */
export const referenceManifestShape = z.strictObject({
  name: text.optional(),
  description: z.string().optional(),
  runtime: z
    .strictObject({
      kind: kindSchema.optional(),
      language: kindSchema.optional(),
      package_manager: z.enum(packageManagers).optional(),
      entry: text.optional(),
      base_image: z.unknown().optional(),
    })
    .optional(),
  resources: z.unknown().optional(),
  scripts: z.strictObject({ setup: z.unknown().optional(), install: text.optional(), start: text.optional() }).optional(),
  env: envMap,
  config: z.unknown().optional(),
  dependencies: z.unknown().optional(),
});

const kindsExpected = `one of ${listed(runtimeKinds)}`;

/** What each key takes, for messages. `*` stands for any one key or index. */
const expectations: ReadonlyMap<string, string> = new Map([
  ["", "a map with at least `name` and `runtime`"],
  ["name", "the worker's name, e.g. `math-worker`"],
  ["description", "a text"],
  ["runtime", "a map with `kind`, `package_manager` and `entry`"],
  ["runtime.kind", kindsExpected],
  ["runtime.language", kindsExpected],
  ["runtime.package_manager", `one of ${listed(packageManagers)}`],
  ["runtime.entry", "the file to run, relative to the worker's folder, e.g. `src/worker.ts`"],
  ["scripts", "a map with `install` and `start`"],
  ["scripts.install", "a shell command, e.g. `pip install -r requirements.txt`"],
  ["scripts.start", "a shell command, e.g. `python math_worker.py`"],
  ["env", "a map of variable names to texts"],
  ["env.*", "a text, a number, true or false"],
  ["watch", "false, or a map with `ignore`"],
  ["watch.ignore", 'a list of file or folder names, e.g. `["data", "*.csv"]`'],
  ["watch.ignore.*", "a file or folder name"],
]);

/** Names as messages show them. */
export function listed(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

export function expectationAt(path: readonly PropertyKey[]): string {
  const exact = expectations.get(path.join("."));
  return exact ?? expectations.get([...path.slice(0, -1), "*"].join(".")) ?? "another value";
}

const knownKeys: ReadonlyMap<string, readonly string[]> = new Map([
  ["", ["name", "description", "runtime", "scripts", "env", "watch"]],
  ["runtime", ["kind", "package_manager", "entry"]],
  ["scripts", ["install", "start"]],
  ["watch", ["ignore"]],
]);

/** Keys allowed at `path`, for hints. */
export function keysAt(path: readonly PropertyKey[]): readonly string[] {
  return knownKeys.get(path.join(".")) ?? [];
}
