import { tableHashOf } from "../../../../store/replicated/testing/table-hash.ts";
import type { MemoryLog } from "../../memory-log.ts";
import type { ReplicaDisk } from "../simulated-replica.ts";
import type { Violations } from "../violations.ts";

/** Checks that the replicas of a store that have applied the whole log have the same content. */
export function checkReplicas(
  store: string,
  log: MemoryLog,
  disks: readonly ReplicaDisk[],
  violations: Violations,
): void {
  const hashes = new Map<string, number>();
  for (const { database, position } of disks) {
    if (database === undefined || position !== log.state().last) continue;
    const hash = tableHashOf(database);
    hashes.set(hash, (hashes.get(hash) ?? 0) + 1);
  }
  if (hashes.size > 1) violations.add("replicas are equal", `the tables of ${store} differ at ${log.state().last}`);
}
