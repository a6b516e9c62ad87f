import { z } from "zod";

/** Modules whose data all engines of a cluster share. */
const SHARED_MODULES: ReadonlySet<string> = new Set(["svc-state", "svc-stream", "svc-queue", "svc-cron"]);
/** Adapter whose data are in the log of a cluster. */
const CLUSTER = "cluster";
/** Where the engine's cluster is configured: nowhere, in its config file, or on the command line (`NodeShare`). */
export type ClusteredBy = "nothing" | "file" | "command line";
/** Adapter names of older configs. They have no effect for svc-cron. */
const IGNORED_BY_CRON = ["kv", "redis"];

const blockSchema = z
  .looseObject({
    adapter: z
      .looseObject({
        name: z.string().optional().catch(undefined),
        config: z
          .looseObject({
            local: z.boolean().optional().catch(undefined),
            store_method: z.string().optional().catch(undefined),
          })
          .optional()
          .catch(undefined),
      })
      .nullish()
      .catch(undefined),
  })
  .catch({});

/**
 * Returns the adapter of a module's config if the cluster determines it: the adapter's name, or the problem with the
 * written one. Returns undefined if the config stays as it is.
 */
export function adapterInCluster(
  module: string,
  config: unknown,
  clusteredBy: ClusteredBy,
): { readonly name: string } | { readonly problem: string } | undefined {
  if (!SHARED_MODULES.has(module) || typeof config !== "object" || config === null) return undefined;
  const { adapter } = blockSchema.parse(config);
  const name = adapter?.name;
  if (clusteredBy === "nothing")
    return name === CLUSTER
      ? { problem: "cluster needs the block engine.cluster, which names the servers; add it, or remove the adapter" }
      : undefined;
  const isIgnored = module === "svc-cron" && name !== undefined && IGNORED_BY_CRON.includes(name);
  if ((!Object.hasOwn(config, "adapter") && adapter == null) || isIgnored) return { name: CLUSTER };
  const isFile =
    name === "file_based" || ((name === "kv" || name === "builtin") && adapter?.config?.store_method !== "in_memory");
  if (!isFile || adapter?.config?.local === true) return undefined;
  // The file is written for an engine without a cluster, and several engines run it. So replace its adapter.
  if (clusteredBy === "command line") return { name: CLUSTER };
  return {
    problem:
      "file_based keeps the data of this engine apart from those of the cluster (engine.cluster): remove the adapter to share them, or write `adapter: {name: file_based, config: {local: true}}` if they shall stay here",
  };
}
