import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import type { ProcedureTable, StoreOptions } from "../../kernel/store-contract.ts";
import { defaultDriver } from "../driver.ts";
import { noteUnsynced } from "../failed-sync.ts";
import { LogTruncated } from "../log.ts";
import { openMemoryReplica } from "./memory-replica.ts";
import type { ReplicaHost } from "./replica-messages.ts";
import type { RunState } from "./replica-tables.ts";
import { openThreadReplica } from "./replica-thread.ts";
import { ReplicatedStore } from "./replicated-store.ts";
import type { ReplicatedStoreParts } from "./replicated-store-parts.ts";
import { type SeedOptions, seedReplica } from "./seed-replica.ts";
import type { Seeds } from "./seeds.ts";

export interface ReplicatedStoreOptions
  extends Omit<ReplicatedStoreParts, "replica" | "reopen" | "run" | "logger" | "clock" | "timeoutClock">,
    Pick<StoreOptions, "file" | "procedures" | "clock" | "timeoutClock"> {
  readonly logger?: ReplicatedStoreParts["logger"];
  /** Id of this run. No other store of the log may ever have had it. Default: a random UUID. */
  readonly run?: string;
  /** Snapshots, needed if the replica is new or the log no longer has the entries after its position. */
  readonly seeds?: Seeds;
  /** Called repeatedly while a snapshot is copied, with the number of bytes copied so far. */
  readonly onCopying?: SeedOptions["onCopying"];
  /** Aborts the copying of a snapshot during the opening of the store. */
  readonly signal?: AbortSignal;
}

/**
 * Opens a store on a log: opens its replica, if necessary from a snapshot, applies the entries that it lacks, and joins
 * the members. Rejects with LogChanged if the replica was made from another log. Rejects with LogTruncated if the log
 * lacks entries and there is no snapshot. Rejects with `store_unavailable` if the log does not answer.
 */
export async function openReplicatedStore<Procedures extends ProcedureTable>(
  options: ReplicatedStoreOptions,
): Promise<ReplicatedStore<Procedures>> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await openOnce<Procedures>(options);
    } catch (error) {
      // The log was truncated while this replica read it. Before a log is truncated, a snapshot is made. It is newer
      // than this replica, so the next attempt can start from it.
      const isLate = error instanceof CutWhileOpening;
      if (!isLate || attempt === MAX_ATTEMPTS) throw isLate ? error.cause : error;
    }
  }
}

const MAX_ATTEMPTS = 5;

class CutWhileOpening extends Error {
  override readonly name = "CutWhileOpening";
}

async function openOnce<Procedures extends ProcedureTable>({
  file,
  procedures,
  seeds,
  onCopying,
  signal,
  run = randomUUID(),
  logger = silentLogger,
  clock = systemClock,
  timeoutClock = clock,
  ...parts
}: ReplicatedStoreOptions): Promise<ReplicatedStore<Procedures>> {
  const { identity } = await parts.log.state();
  const place = { driver: defaultDriver(), identity, run };
  const open = async (ended: AbortSignal | undefined): Promise<ReplicaHost> => {
    const seeding = { log: parts.log, seeds, node: parts.node, logger, onCopying, signal: ended };
    const { first } = await parts.log.state();
    if (file !== undefined) {
      const openFile = (): Promise<ReplicaHost> => openThreadReplica(procedures, { ...place, file, seed: undefined });
      await seedReplica({ ...seeding, file });
      const host = await openFile();
      if (host.opened.state.position + 1 >= first) return host;
      await host.close();
      await seedReplica({ ...seeding, file, isLate: true });
      return openFile();
    }
    if (first === 1) return openMemoryReplica(procedures, { ...place, seed: undefined });
    const folder = await mkdtemp(join(tmpdir(), "svc-seed-"));
    try {
      const draft = join(folder, "replica.db");
      const isSeeded = await seedReplica({ ...seeding, file: draft });
      return await openMemoryReplica(procedures, { ...place, seed: isSeeded ? draft : undefined });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  const onEnded = (state: RunState): void => {
    // Mark the file of a quarantined replica. The next opening replaces a marked file with a snapshot or the content of
    // the log.
    if (state === "quarantined" && file !== undefined) noteUnsynced(file);
    parts.onEnded?.(state);
  };
  const replica = await open(signal);
  const clocks = { clock, timeoutClock };
  const store = new ReplicatedStore<Procedures>({
    ...parts,
    ...clocks,
    replica,
    reopen: open,
    run,
    logger,
    onEnded,
  });
  try {
    await store.open();
    return store;
  } catch (error) {
    await store.abort();
    throw error instanceof LogTruncated ? new CutWhileOpening(error.message, { cause: error }) : error;
  }
}
