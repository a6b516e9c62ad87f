import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import type { ProcedureTable, Store, StoreOptions } from "../kernel/store-contract.ts";
import { openMemoryStore } from "./memory-store.ts";
import { openThreadStore } from "./thread-store.ts";

/**
 * Opens a store for a module (see `OpenStore`): in a file and a thread of its own, or in memory if `file` is undefined.
 */
export function openStore<Procedures extends ProcedureTable>({
  file,
  procedures,
  log = silentLogger,
  clock = systemClock,
  ...options
}: StoreOptions): Promise<Store<Procedures>> {
  if (file === undefined) return openMemoryStore(procedures, { log, clock });
  return openThreadStore({ log, clock, ...options, file, procedures });
}
