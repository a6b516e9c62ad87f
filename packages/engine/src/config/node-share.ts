import { join } from "node:path";
import { z } from "zod";
import type { BridgeBlock } from "./blocks/access-block.ts";
import { clusterBlockSchema } from "./blocks/cluster-block.ts";
import type { CommandEntry, LocalWorkerEntry, ModuleEntry, SupervisedEntry } from "./types.ts";

/**
 * Makes an engine one of several on this machine that run the same config file. `svc dev --cluster` starts engines like
 * this.
 */
export const nodeShareSchema = z.strictObject({
  /** Replaces `engine.cluster` of the file. */
  cluster: clusterBlockSchema,
  /** Absolute path of the folder for files that the engines must not share: data, logs, records of processes. */
  folder: z.string().min(1),
  /** Index of this engine among the engines, from 0 on. */
  at: z.int().min(0),
  /** Number of engines. */
  of: z.int().min(1),
});
export type NodeShare = z.output<typeof nodeShareSchema>;

interface Entries {
  readonly localWorkers: readonly LocalWorkerEntry[];
  readonly commands: readonly CommandEntry[];
}

/**
 * Returns the workers and commands that this engine runs. The processes are distributed over the engines in turn.
 * Entries that depend on one another run at the same engine.
 */
export function shareOf({ localWorkers, commands }: Entries, share: NodeShare | undefined): Entries {
  if (share === undefined) return { localWorkers, commands };
  const processes = processesAt([...localWorkers, ...commands], share);
  const own = <Entry extends SupervisedEntry>(entry: Entry): Entry[] => {
    const replicas = processes.get(entry) ?? 0;
    return replicas === 0 ? [] : [{ ...entry, replicas }];
  };
  return { localWorkers: localWorkers.flatMap(own), commands: commands.flatMap(own) };
}

/** Returns how many processes of each entry this engine runs. */
function processesAt(entries: readonly SupervisedEntry[], { at, of }: NodeShare): ReadonlyMap<SupervisedEntry, number> {
  const processes = new Map<SupervisedEntry, number>();
  let turn = 0;
  for (const group of dependentGroups(entries)) {
    const [only] = group;
    if (group.length === 1 && only !== undefined) {
      const turns = Array.from({ length: only.replicas }, (_, index) => (turn + index) % of);
      processes.set(only, turns.filter((engine) => engine === at).length);
      turn += only.replicas;
    } else {
      if (turn % of === at) for (const entry of group) processes.set(entry, entry.replicas);
      turn += 1;
    }
  }
  return processes;
}

/**
 * Groups entries that depend on one another, directly or indirectly. Groups are in the order of their first entries.
 */
function dependentGroups(entries: readonly SupervisedEntry[]): readonly (readonly SupervisedEntry[])[] {
  let groups: (readonly SupervisedEntry[])[] = [];
  for (const entry of entries) {
    const isRelated = (other: SupervisedEntry): boolean =>
      other.dependsOn.includes(entry.name) || entry.dependsOn.includes(other.name);
    const related = groups.filter((group) => group.some(isRelated));
    const merged = [...related.flat(), entry];
    const [first] = related;
    groups =
      first === undefined
        ? [...groups, merged]
        : groups.flatMap((group) => (group === first ? [merged] : related.includes(group) ? [] : [group]));
  }
  return groups;
}

/**
 * Returns the listeners with their ports for the first engine. For the other engines, all ports are 0 (a free port),
 * because two engines on one machine cannot use the same port.
 */
export function withOwnPorts(bridges: readonly BridgeBlock[], share: NodeShare | undefined): BridgeBlock[] {
  return bridges.map((bridge) => (share === undefined || share.at === 0 ? bridge : { ...bridge, port: 0 }));
}

/** Parts of the block of svc-observability that several engines on one machine cannot share. */
const telemetryBlockSchema = z.looseObject({
  prometheus: z.looseObject({}).optional(),
  otlp_receiver: z.looseObject({}).optional(),
  trace_storage: z.looseObject({}).optional(),
});

/** Returns the modules, with other ports and folders for svc-observability if several engines run the file. */
export function withOwnTelemetry(
  modules: readonly ModuleEntry[],
  share: NodeShare | undefined,
): readonly ModuleEntry[] {
  if (share === undefined) return modules;
  return modules.map((module) => {
    if (module.name !== "svc-observability") return module;
    const config = telemetryBlockSchema.parse(module.config);
    if (share.at > 0)
      for (const key of ["prometheus", "otlp_receiver"] as const)
        if (config[key] !== undefined) config[key] = { ...config[key], port: 0 };
    // Use the default instead, because it is in this engine's data folder.
    if (config.trace_storage !== undefined) config.trace_storage = { ...config.trace_storage, directory: undefined };
    return { ...module, config };
  });
}

/** Returns the overrides. If several engines run the file, adds folders that only this engine uses. */
export function withOwnFolders<Overrides extends { readonly share?: NodeShare | undefined }>(
  overrides: Overrides,
): Overrides & { readonly dataDir?: string; readonly logsDir?: string } {
  const { share } = overrides;
  if (share === undefined) return overrides;
  return { ...overrides, dataDir: join(share.folder, "data"), logsDir: join(share.folder, "logs") };
}
