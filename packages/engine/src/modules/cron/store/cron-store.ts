import { join } from "node:path";
import { systemClock } from "../../../kernel/clock.ts";
import type { Undo } from "../../../kernel/scope.ts";
import type { AppliedWrite, OpenStore, Store } from "../../../kernel/store-contract.ts";
import type { HandledTicks } from "./handled-ticks.ts";
import type { CronProcedures } from "./procedures.ts";
import type {
  Adoption,
  Entry,
  NewEntry,
  OwnerChange,
  Release,
  Retirement,
  Rewind,
  Run,
  StartOutcome,
  StoredJob,
  UndoneStart,
} from "./rows.ts";

/** File in the data folder. */
const FILE = "cron.db";
/** Maximum changes per request to the store. */
const BATCH = 1_000;

type Change = Adoption | OwnerChange | Release | Retirement | Rewind;

/**
 * A change of a job that another engine wrote. `unknown`: the change has no details, so the stored job must be read
 * again.
 */
export type ForeignChange =
  | { readonly kind: "started"; readonly run: Run; readonly decidedUntil: number | undefined }
  | { readonly kind: "added"; readonly run: Run; readonly entry: NewEntry }
  | { readonly kind: "finished"; readonly run: Run }
  | { readonly kind: "holders"; readonly holders: readonly string[] }
  | { readonly kind: "released"; readonly engine: string }
  | { readonly kind: "unknown" };

interface Waiting {
  readonly change: Change;
  readonly resolve: (job: StoredJob | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export interface CronStoreOptions {
  readonly dataDir: string;
  readonly openStore: OpenStore;
  /** Whether all engines of a cluster share the schedules. Default false. */
  readonly isShared?: boolean;
}

/**
 * Stores cron jobs: whether a job is paused, its last runs, and the time up to which its ticks are decided. A tick is a
 * scheduled time. It is decided when its run was started or skipped. When a call resolves, its change is on disk.
 */
export class CronStore {
  readonly #store: Store<CronProcedures>;
  #waiting: Waiting[] = [];

  private constructor(store: Store<CronProcedures>) {
    this.#store = store;
  }

  /**
   * Opens the store. Its timeouts use the real clock even if a test replaces the clock, because the disk takes real
   * time.
   */
  static async open({ dataDir, openStore, isShared = false }: CronStoreOptions): Promise<CronStore> {
    return new CronStore(
      await openStore<CronProcedures>({
        file: join(dataDir, isShared ? "cluster" : ".", FILE),
        shared: isShared ? "cron" : undefined,
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

  /** Stores that this engine has no trigger of the job any more. */
  async release(id: string): Promise<void> {
    await this.#register({ kind: "release", id });
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

  /** Id of this engine's run in the store. */
  get run(): string {
    return this.#store.run;
  }

  /** True if other engines use the store. */
  get isShared(): boolean {
    return this.#store.isShared;
  }

  /** Stores that a run starts, unless its tick is already decided or another engine runs the job. */
  start(entry: NewEntry, mayOverlap: boolean): Promise<StartOutcome> {
    return this.#store.call("start", { entry, engine: this.#store.run, mayOverlap });
  }

  /** Deletes a stored start whose run was not delivered. Resolves with false if the start cannot be undone. */
  undoStart(start: UndoneStart): Promise<boolean> {
    return this.#store.call("undoStart", start);
  }

  /** Adds a history entry. Resolves with the numbered entry, or with undefined if the job was deleted. */
  add(entry: NewEntry): Promise<Run | undefined> {
    return this.#store.call("add", { entry, engine: this.#store.run });
  }

  /** Stores how a run ended. */
  finish(entry: Entry): Promise<void> {
    return this.#store.call("finish", entry);
  }

  /**
   * Pauses or resumes a job. If `decided` is given, it replaces the time up to which ticks are decided, even if its
   * time is earlier.
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

  /**
   * Deletes jobs that are not in `ids` and were not used for more than `unusedMs`. Resolves with the number of deleted
   * jobs.
   */
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

  /**
   * Calls the listener when other engines are gone, so that this engine can adopt the job runs that they did not
   * finish.
   */
  onRunsGone(listener: () => void): Undo {
    return this.#store.onRunsGone(listener);
  }

  /** Calls the listener for each change of a job that another engine wrote, in order. */
  onForeign(listener: (job: string, change: ForeignChange) => void): Undo {
    return this.#store.onApplied((applied) => {
      if (!applied.isOwn) reportForeign(applied, listener);
    });
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

  #register(change: Change): Promise<StoredJob | undefined> {
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
      const { run: engine, isShared } = this.#store;
      this.#store.call("register", { changes, engine, members: this.#store.members(), isShared }).then(
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

function reportForeign(
  applied: AppliedWrite<CronProcedures>,
  listener: (job: string, change: ForeignChange) => void,
): void {
  switch (applied.procedure) {
    case "start": {
      const { id, decidedUntil } = applied.input.entry;
      if (applied.output.status === "started") listener(id, { kind: "started", run: applied.output.run, decidedUntil });
      return;
    }
    case "add":
      if (applied.output !== undefined)
        listener(applied.input.entry.id, { kind: "added", run: applied.output, entry: applied.input.entry });
      return;
    case "finish":
      listener(applied.input.id, { kind: "finished", run: applied.input.run });
      return;
    case "setPaused":
    case "undoStart":
      listener(applied.input.id, { kind: "unknown" });
      return;
    case "register": {
      const { changes, engine } = applied.input;
      for (const [index, { kind, id }] of changes.entries()) {
        const stored = applied.output[index];
        if (stored !== undefined) listener(id, { kind: "holders", holders: stored.holders });
        else if (kind === "release" || kind === "retire") listener(id, { kind: "released", engine });
        else if (kind === "rewind") listener(id, { kind: "unknown" });
      }
    }
  }
}
