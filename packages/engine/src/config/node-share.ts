import { join } from "node:path";
import { z } from "zod";
import type { BridgeBlock } from "./blocks/access-block.ts";
import { clusterBlockSchema } from "./blocks/cluster-block.ts";
import type { CommandEntry, LocalWorkerEntry, ModuleEntry, SupervisedEntry } from "./types.ts";

/** Makes an engine one of several on this machine that run one config file, as `svc dev --cluster` starts them. */
export const nodeShareSchema = z.strictObject({
  /** Replaces `engine.cluster` of the file. */
  cluster: clusterBlockSchema,
  /** Absolute path. What this engine alone keeps is below it: data, logs, records of its processes. */
  folder: z.string().min(1),
  /** Which of the engines it is, from 0 on. */
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
 * Returns the workers and commands that an engine runs. The engines take them in turn, process by process. Entries that
 * depend on one another run at one engine.
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

/** Returns the number of processes that the engine runs of each entry. */
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

/** Returns the entries in groups whose members depend on one another, in the order of their first entries. */
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

/** Returns the further listeners. Their ports are for the first engine; the others take free ones. */
export function withOwnPorts(bridges: readonly BridgeBlock[], share: NodeShare | undefined): BridgeBlock[] {
  return bridges.map((bridge) => (share === undefined || share.at === 0 ? bridge : { ...bridge, port: 0 }));
}

/** Block of svc-observability, as far as engines on one machine cannot share it. */
const telemetryBlockSchema = z.looseObject({
  prometheus: z.looseObject({}).optional(),
  otlp_receiver: z.looseObject({}).optional(),
  trace_storage: z.looseObject({}).optional(),
});

/** Returns the modules with listeners and folders of the engine's own, as `withOwnPorts` and `withOwnFolders` do. */
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
    // The default is in the data folder.
    if (config.trace_storage !== undefined) config.trace_storage = { ...config.trace_storage, directory: undefined };
    return { ...module, config };
  });
}

/** Returns the overrides with the folders of an engine that is one of several. */
export function withOwnFolders<Overrides extends { readonly share?: NodeShare | undefined }>(
  overrides: Overrides,
): Overrides & { readonly dataDir?: string; readonly logsDir?: string } {
  const { share } = overrides;
  if (share === undefined) return overrides;
  return { ...overrides, dataDir: join(share.folder, "data"), logsDir: join(share.folder, "logs") };
}
