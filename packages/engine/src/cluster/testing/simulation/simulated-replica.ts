import { type Database, defaultDriver } from "../../../store/driver.ts";
import type { ProceduresModule } from "../../../store/procedures.ts";
import { openMemoryDatabase } from "../../../store/replicated/open-replica.ts";
import { Replica } from "../../../store/replicated/replica.ts";
import type { AppliedEntry, ReplicaHost } from "../../../store/replicated/replica-messages.ts";
import type { Scheduler, SimulatedProcess } from "./scheduler.ts";

/** What the machine of an engine keeps of a store when the engine ends. */
export class ReplicaDisk {
  database: Database | undefined;
  #isFull = false;

  /** Makes the disk full, or gives it room again. Full: the next change that needs a new page fails. */
  setFull(isFull: boolean): void {
    this.#isFull = isFull;
    this.#limit();
  }

  use(database: Database): Database {
    this.database = database;
    this.#limit();
    return database;
  }

  /** Position of the replica; 0 without a database, without tables (the disk was full) or without an applied entry. */
  get position(): number {
    const tables = this.database?.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'replica_state'").get();
    if (this.database === undefined || tables === undefined) return 0;
    return this.database.prepare<{ position: number }>("SELECT position FROM replica_state").get()?.position ?? 0;
  }

  /** Loses everything. Only while no engine uses it. */
  lose(): void {
    this.database?.close();
    this.database = undefined;
  }

  #limit(): void {
    if (this.database === undefined) return;
    // SQLite never goes below the present size.
    this.database.exec(`PRAGMA max_page_count=${this.#isFull ? 1 : 4_294_967_294}`);
  }
}

export interface SimulatedReplicaParts {
  readonly disk: ReplicaDisk;
  readonly module: ProceduresModule;
  readonly identity: string;
  readonly run: string;
  /** Snapshot to begin with, if the disk has no replica. */
  readonly seed: string | undefined;
  readonly scheduler: Scheduler;
  readonly process: SimulatedProcess;
  /** Returns whether the thread ends after it applied entries and before it answers. */
  readonly crashes: () => boolean;
  /** Called with each entry that the database did not have. */
  readonly onApplied: (entry: AppliedEntry, writes: readonly string[]) => void;
}

/** A replica in its own thread, which the process may outlive or not. */
export function openSimulatedReplica(parts: SimulatedReplicaParts): ReplicaHost {
  const { disk, module, identity, run, seed, scheduler, process } = parts;
  const database = disk.database ?? disk.use(openMemoryDatabase(module, { seed, driver: defaultDriver() }));
  const replica = new Replica(database, module, { identity, run });
  const { opened } = replica;
  let { position } = opened.state;
  let isCrashed = false;
  let tail: Promise<unknown> = Promise.resolve();
  /** Runs requests in order. The process may die before each, and between the work and its answer. */
  function inThread<T>(what: string, work: () => T): Promise<T> {
    const done = tail.then(async () => {
      await scheduler.hop(process, `${what} begins`, 1);
      if (isCrashed) throw new Error("the thread of the replica ended");
      const answer = work();
      await scheduler.hop(process, `${what} ended`, 1);
      if (isCrashed) throw new Error("the thread of the replica ended");
      return answer;
    });
    tail = done.catch(() => {});
    return done;
  }
  return {
    opened,
    apply: (entries) =>
      inThread("apply", () => {
        const result = replica.apply(entries);
        for (const entry of result.applied) {
          if (entry.position <= position) continue;
          position = entry.position;
          parts.onApplied(entry, opened.writes);
        }
        isCrashed = parts.crashes();
        return result;
      }),
    read: (requests, time) => inThread("read", () => replica.read(requests, time)),
    answersOf: (of) => inThread("answers", () => replica.answersOf(of)),
    snapshot: (target) =>
      inThread("snapshot", () => {
        database.prepare("VACUUM INTO ?").run(target);
        return { identity, position };
      }),
    close: async () => {},
  };
}
