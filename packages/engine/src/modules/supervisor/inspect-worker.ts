import { access } from "node:fs/promises";
import { MASK, maskConfig, maskConfigText } from "@svc-runtime/protocol";
import { z } from "zod";
import type { SupervisedEntry } from "../../config/types.ts";
import { workerStateFolder } from "../../local-workers/install.ts";
import { readInstallRecord } from "../../local-workers/install-record.ts";
import { unenforced } from "./memory-limits.ts";
import type { RunPlan } from "./unit-preparation.ts";

const variablesSchema = z.record(z.string(), z.string());

export const inspectionSchema = z.object({
  name: z.string(),
  folder: z.string().meta({ description: "Absolute path of the working folder" }),
  manifest_file: z.string().nullable().meta({ description: "Absolute path of the manifest" }),
  kind: z.string().nullable().meta({ description: "Runtime in the manifest" }),
  package_manager: z.string().nullable(),
  entry: z.string().nullable().meta({ description: "The file to run, if the manifest names one" }),
  install: z.string().nullable().meta({ description: "The command that installs its dependencies, if there is one" }),
  start: z.string().meta({ description: "The command that starts it" }),
  env: variablesSchema.meta({
    description: "Variables from env files, manifest and config. Secrets and all values from env files are masked",
  }),
  env_files: z.array(z.string()).meta({ description: "Absolute paths of the env files, including missing ones" }),
  missing_env_files: z.array(z.string()).meta({ description: "The env files that do not exist" }),
  watch: z.union([z.literal(false), z.object({ include: z.array(z.string()), ignore: z.array(z.string()) })]).meta({
    description: "Which changed files restart it. Files made by tools never do. An empty `include` means all files",
  }),
  replicas: z.int(),
  depends_on: z.array(z.string()),
  limits: z.object({
    memory_bytes: z.int().nullable(),
    cpu: z.number().nullable().meta({ description: "Cores" }),
    not_enforced: z.string().nullable().meta({ description: "Which limits are not enforced on this system, and why" }),
  }),
  dependencies_hash: z
    .string()
    .nullable()
    .meta({ description: "Hash of everything that the last install depended on" }),
  installed_at: z.string().nullable().meta({ description: "ISO time of the last install" }),
  where: z.string().meta({ description: "Location of its entry, e.g. `config.yaml:12`" }),
});
export type Inspection = z.output<typeof inspectionSchema>;

/** Returns how a unit is run, from its current manifest and entry. */
export async function inspect(parts: {
  readonly entry: SupervisedEntry;
  readonly plan: RunPlan;
  /** Absolute paths. */
  readonly envFiles: readonly string[];
  readonly projectDir: string;
}): Promise<Inspection> {
  const { entry, plan, envFiles, projectDir } = parts;
  const { manifest } = plan;
  const installed =
    manifest === undefined
      ? undefined
      : await readInstallRecord({ folder: manifest.folder, stateFolder: workerStateFolder(projectDir, entry.name) });
  return {
    name: entry.name,
    folder: plan.folder,
    manifest_file: manifest?.file ?? null,
    kind: manifest?.kind ?? null,
    package_manager: manifest?.packageManager ?? null,
    entry: manifest?.entry ?? null,
    install: manifest?.install === undefined ? null : maskConfigText(manifest.install),
    start: maskConfigText(plan.command),
    env: {
      ...hidden(plan.fromFiles),
      ...variablesSchema.parse(maskConfig({ ...manifest?.env, ...entry.env }, ["env"])),
    },
    env_files: [...envFiles],
    missing_env_files: await missing(envFiles),
    watch: plan.watch === false ? false : { include: [...plan.watch.include], ignore: [...plan.watch.ignore] },
    replicas: entry.replicas,
    depends_on: [...entry.dependsOn],
    limits: {
      memory_bytes: entry.limits.memoryBytes ?? null,
      cpu: entry.limits.cpu ?? null,
      not_enforced: unenforced(entry.limits) ?? null,
    },
    dependencies_hash: installed?.hash ?? null,
    installed_at: installed?.installed_at ?? null,
    where: entry.where,
  };
}

async function missing(files: readonly string[]): Promise<string[]> {
  const exist = await Promise.all(
    files.map((file) =>
      access(file).then(
        () => true,
        (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
      ),
    ),
  );
  return files.filter((_, index) => !exist[index]);
}

/** Masks all values from env files, because they are often secrets. */
function hidden(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.keys(env).map((name) => [name, MASK]));
}
