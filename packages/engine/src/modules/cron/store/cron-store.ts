import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Logger } from "../../../kernel/logger.ts";
import { openStore, type Store } from "../../../store/store.ts";
import type { HandledTicks } from "./handled-ticks.ts";
import type { CronProcedures } from "./procedures.ts";
import type { Adoption, Entry, OwnerChange, Retirement, Rewind, Run, StoredJob, TakenBack } from "./rows.ts";

/** Lies in the data folder. */
const FILE = "cron.db";
/** Registrations that travel in one request, at most. */
const BATCH = 1_000;

interface Waiting {
  readonly change: Adoption | OwnerChange | Retirement | Rewind;
  readonly resolve: (job: StoredJob | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** What is kept of the jobs: up to where their ticks have been decided on, whether they are paused, and their last runs. All of it is synced when answered. */
export class CronStore {
  /** Names this run of the engine. */
  readonly #engine = randomUUID();
  readonly #store: Store<CronProcedures>;
  #waiting: Waiting[] = [];

  private constructor(store: Store<CronProcedures>) {
    this.#store = store;
  }

  /** The store's deadlines are in real time, whatever clock the jobs go by: a disk knows no other. */
  static async open(options: { readonly dataDir: string; readonly log: Logger }): Promise<CronStore> {
    const { dataDir, log } = options;
    return new CronStore(await openStore<CronProcedures>({ file: join(dataDir, FILE), procedures: new URL("./procedures.js", import.meta.url), log }));
  }

  /** Registrations come in crowds: all of one turn travel together. */
  adopt(adoption: Omit<Adoption, "kind">): Promise<StoredJob> {
    return this.#register({ kind: "adopt", ...adoption }) as Promise<StoredJob>;
  }

  /** Stores whether the job belongs to a trusted worker. */
  async own(owner: Omit<OwnerChange, "kind">): Promise<void> {
    await this.#register({ kind: "own", ...owner });
  }

  async retire(retirement: Omit<Retirement, "kind">): Promise<void> {
    await this.#register({ kind: "retire", ...retirement });
  }

  /** A clock that is set back rewinds all jobs: they travel together as well. */
  async rewind(rewind: Omit<Rewind, "kind">): Promise<void> {
    await this.#register({ kind: "rewind", ...rewind });
  }

  /** False: the tick was decided on before, and must not be started. */
  start(entry: Entry & { readonly decidedUntil: number }): Promise<boolean> {
    return this.#store.call("start", { entry, engine: this.#engine });
  }

  /** False: it stays. */
  takeBackStart(start: TakenBack): Promise<boolean> {
    return this.#store.call("takeBackStart", start);
  }

  record(entry: Entry): Promise<void> {
    return this.#store.call("record", { entry, engine: this.#engine });
  }

  /** `decided` may also take back that later ticks were decided on; absent, it stays as it is. */
  setPaused(id: string, paused: boolean, decided?: { readonly until: number; readonly handled: HandledTicks }): Promise<void> {
    return this.#store.call("setPaused", { id, paused, decidedUntil: decided?.until ?? null, handled: decided?.handled ?? null });
  }

  /** The clock was set. */
  clockJumped(byMs: number): Promise<void> {
    return this.#store.call("moveSeen", { byMs });
  }

  /** The latest first. */
  history(id: string, limit: number): Promise<readonly Run[]> {
    return this.#store.call("history", { id, limit });
  }

  /** Forgets what belongs to none of the jobs `ids` and was not seen since `seenBefore`. Returns how many jobs. */
  async upkeep(ids: readonly string[], now: number, seenBefore: number): Promise<number> {
    for (let at = 0; at < ids.length; at += BATCH) await this.#store.call("touch", { ids: ids.slice(at, at + BATCH), now });
    let forgotten = 0;
    for (let mayBeMore = true; mayBeMore; ) {
      const purged = await this.#store.call("purge", { seenBefore });
      forgotten += purged.jobs;
      mayBeMore = purged.mayBeMore;
    }
    return forgotten;
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
      this.#store.call("register", { changes: batch.map(({ change }) => change), engine: this.#engine }).then(
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
