import type { ProceduresModule } from "../procedures.ts";
import { openReplica, type ReplicaPlace } from "./open-replica.ts";
import type { ReplicaHost } from "./replica-messages.ts";

/** Opens a replica in memory, which runs in this thread. */
export async function openMemoryReplica(procedures: URL, place: Omit<ReplicaPlace, "file">): Promise<ReplicaHost> {
  const module = (await import(procedures.href)) as ProceduresModule;
  const { replica, snapshot, close } = openReplica(module, { ...place, file: undefined });
  return {
    opened: replica.opened,
    apply: async (entries) => replica.apply(entries),
    read: async (requests, time) => replica.read(requests, time),
    answersOf: async (run) => replica.answersOf(run),
    snapshot: async (target) => snapshot(target),
    close: async () => close(),
  };
}
