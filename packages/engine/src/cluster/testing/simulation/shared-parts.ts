import type { AppliedEntry } from "../../../store/replicated/replica-messages.ts";
import type { MemorySeeds } from "../../../store/replicated/testing/memory-seeds.ts";
import type { MemoryLog } from "../memory-log.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SimulatedNetwork } from "./simulated-link.ts";

/** What all nodes of a simulation share. */
export interface SharedParts {
  readonly scheduler: Scheduler;
  readonly random: Random;
  /** Folder for data folders and snapshots. */
  readonly folder: string;
  /** Config blocks of the modules. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly network: SimulatedNetwork;
  /** Names of the stores. */
  readonly stores: readonly string[];
  logOf(store: string): { readonly log: MemoryLog; readonly seeds: MemorySeeds };
  /** Must be called with each entry that a replica of a node applied. `writes`: names of the store's procedures that write. */
  onApplied(
    replica: { readonly store: string; readonly node: string; readonly writes: readonly string[] },
    entry: AppliedEntry,
  ): void;
}
