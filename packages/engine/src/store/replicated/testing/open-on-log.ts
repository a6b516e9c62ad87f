import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryLog } from "../../../cluster/testing/memory-log.ts";
import type { OpenStore, ProcedureTable, Store, StoreOptions } from "../../../kernel/store-contract.ts";
import { openReplicatedStore } from "../open-replicated-store.ts";
import { alternatingStore } from "./alternating-store.ts";
import { recordLog } from "./recorded-logs.ts";

export interface ReplicaKind {
  readonly name: string;
  readonly open: OpenStore;
}

/** Kinds of replicated stores for the suites: one store on its log, and two of which each makes every other request. */
export function replicaKinds(place: "memory" | "file"): readonly [ReplicaKind, ReplicaKind] {
  return [
    { name: `a replica in ${place}`, open: (options) => openOnLog(options, place, 1) },
    { name: `two replicas in ${place}`, open: (options) => openOnLog(options, place, 2) },
  ];
}

async function openOnLog<Procedures extends ProcedureTable>(
  { procedures, clock, timeoutClock, onClosed, file: given }: StoreOptions,
  place: "memory" | "file",
  count: 1 | 2,
): Promise<Store<Procedures>> {
  const log = new MemoryLog();
  const folder = mkdtempSync(join(tmpdir(), "svc-replica-"));
  const open = (node: number): Promise<Store<Procedures>> =>
    openReplicatedStore<Procedures>({
      ...{ log: log.connect(), node: String(node), procedures },
      // A user of the first file may read it, e.g. for a snapshot.
      file: place === "memory" ? undefined : node === 0 && given !== undefined ? given : join(folder, `${node}.db`),
      ...(clock === undefined ? {} : { clock }),
      ...(timeoutClock === undefined ? {} : { timeoutClock }),
    });
  const first = await open(0);
  const store = count === 1 ? first : alternatingStore<Procedures>([first, await open(1)]);
  const close = async (): Promise<void> => {
    await store.close();
    await recordLog(log, procedures);
    rmSync(folder, { recursive: true, force: true });
    onClosed?.();
  };
  let closing: Promise<void> | undefined;
  return {
    run: store.run,
    isShared: store.isShared,
    members: () => store.members(),
    onRunsGone: (listener) => store.onRunsGone(listener),
    skewMs: () => store.skewMs(),
    problem: () => store.problem(),
    damage: () => store.damage(),
    call: (name, input, options) => store.call(name, input, options),
    readLocal: (name, input) => store.readLocal(name, input),
    onApplied: (listener) => store.onApplied(listener),
    close: () => (closing ??= close()),
  };
}
