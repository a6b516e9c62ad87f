import { join } from "node:path";
import { systemClock } from "../../../kernel/clock.ts";
import type { Undo } from "../../../kernel/scope.ts";
import type { OpenStore, Store } from "../../../kernel/store-contract.ts";
import type { HandledTicks } from "./handled-ticks.ts";
import type { CronProcedures } from "./procedures.ts";
import type { Adoption, Entry, OwnerChange, Retirement, Rewind, Run, StoredJob, UndoneStart } from "./rows.ts";

/** File in the data folder. */
const FILE = "cron.db";
/** Maximum changes per request to the store. */
const BATCH = 1_000;

interface Waiting {
  readonly change: Adoption | OwnerChange | Retirement | Rewind;
  readonly resolve: (job: StoredJob | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export interface CronStoreOptions {
  readonly dataDir: string;
  readonly openStore: OpenStore;
}

/**
 * Stores jobs: up to which time their ticks are decided, whether they are paused, and their last runs. Every change is
 * on disk when its call resolves.
 */
export class CronStore {
  readonly #store: Store<CronProcedures>;
  #waiting: Waiting[] = [];

  private constructor(store: Store<CronProcedures>) {
    this.#store = store;
  }

  /** Opens the store. Its timeouts always use real time, because the disk does. */
  static async open({ dataDir, openStore }: CronStoreOptions): Promise<CronStore> {
    return new CronStore(
      await openStore<CronProcedures>({
        file: join(dataDir, FILE),
        procedures: new URL("./procedures.js", import.meta.url),
        timeoutClock: systemClock,
      }),
    );
  }

  /**
   * Registers a job and returns its stored state. Changes of one event-loop turn share one request, because workers
   * register many triggers at once.
   */
  adopt(adoption: Omit<Adoption, "kind">): Promise<StoredJob> {
    return this.#register({ kind: "adopt", ...adoption }) as Promise<StoredJob>;
  }

  /** Stores whether the job belongs to a trusted worker. */
  async setOwner(owner: Omit<OwnerChange, "kind">): Promise<void> {
    await this.#register({ kind: "own", ...owner });
  }

  async retire(retirement: Omit<Retirement, "kind">): Promise<void> {
    await this.#register({ kind: "retire", ...retirement });
  }

  /**
   * Stores that ticks are decided again after the clock was set back. All jobs do this at once, so their changes share
   * a request.
   */
  async rewind(rewind: Omit<Rewind, "kind">): Promise<void> {
    await this.#register({ kind: "rewind", ...rewind });
  }

  /** Stores a start. Resolves with false if the tick was already decided and must not start. */
  start(entry: Entry & { readonly decidedUntil: number }): Promise<boolean> {
    return this.#store.call("start", { entry, engine: this.#store.run });
  }

  /** Undoes a start. Resolves with false if this is not possible. */
  undoStart(start: UndoneStart): Promise<boolean> {
    return this.#store.call("undoStart", start);
  }

  record(entry: Entry): Promise<void> {
    return this.#store.call("record", { entry, engine: this.#store.run });
  }

  /**
   * Pauses or resumes a job. `decided` replaces the decided time, and may be earlier than the stored one. Absent:
   * unchanged.
   */
  setPaused(
    id: string,
    paused: boolean,
    decided?: { readonly until: number; readonly handled: HandledTicks },
  ): Promise<void> {
    return this.#store.call("setPaused", {
      id,
      paused,
      decidedUntil: decided?.until ?? null,
      handled: decided?.handled ?? null,
    });
  }

  /** Returns the last runs, the latest first. */
  history(id: string, limit: number): Promise<readonly Run[]> {
    return this.#store.call("history", { id, limit });
  }

  /** Deletes jobs that are not in `ids` and were not used for more than `unusedMs`. Returns their number. */
  async upkeep(ids: readonly string[], unusedMs: number): Promise<number> {
    for (let at = 0; at < ids.length; at += BATCH) await this.#store.call("touch", { ids: ids.slice(at, at + BATCH) });
    let forgotten = 0;
    for (let mayBeMore = true; mayBeMore; ) {
      const purged = await this.#store.call("purge", { unusedMs });
      forgotten += purged.jobs;
      mayBeMore = purged.mayBeMore;
    }
    return forgotten;
  }

  /** Calls the listener when other runs are gone, so that their unfinished starts can be adopted. */
  onRunsGone(listener: () => void): Undo {
    return this.#store.onRunsGone(listener);
  }

  problem(): string | undefined {
    return this.#store.problem();
  }

  damage(): string | undefined {
    return this.#store.damage();
  }

  close(): Promise<void> {
    this.#flush();
    return this.#store.close();
  }

  #register(change: Adoption | OwnerChange | Retirement | Rewind): Promise<StoredJob | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < waiting.length; at += BATCH) {
      const batch = waiting.slice(at, at + BATCH);
      const changes = batch.map(({ change }) => change);
      const { run: engine } = this.#store;
      this.#store.call("register", { changes, engine, members: this.#store.members() }).then(
        (jobs) => {
          for (const [index, { resolve }] of batch.entries()) resolve(jobs[index]);
        },
        (error: unknown) => {
          for (const { reject } of batch) reject(error);
        },
      );
    }
  }
}
