import { firstChoice } from "../../collections/rendezvous.ts";
import type { ForeignChange } from "./store/cron-store.ts";
import type { StoredJob } from "./store/rows.ts";

/** Additional delay of a tick, in milliseconds, at all engines with equal triggers except the preferred one. */
const SECOND_CHOICE_MS = 300;

/** What the other engines of a cluster do with a job: which of them have triggers of it, and their runs in progress. */
export class OtherEngines {
  readonly #jobId: string;
  /** Id of this run of the engine. */
  readonly #ownRun: string;
  /** Numbers of the job's runs that other engines have started and not finished. */
  #running = new Set<number>();
  /**
   * Ids of the engine runs that have triggers of the job. Empty without a cluster. An engine gets a new run at each
   * start.
   */
  #holders = new Set<string>();

  constructor(jobId: string, ownRun: string) {
    this.#jobId = jobId;
    this.#ownRun = ownRun;
  }

  /** Number of the job's runs that are in progress at other engines. */
  get running(): number {
    return this.#running.size;
  }

  /** Additional delay of ticks at this engine, in milliseconds. 0 if this engine is the preferred one for the job. */
  get lagMs(): number {
    return this.#holders.size < 2 || firstChoice(this.#jobId, this.#holders) === this.#ownRun ? 0 : SECOND_CHOICE_MS;
  }

  /** Takes over the stored state. */
  adopt({ holders, running }: Pick<StoredJob, "holders" | "running">): void {
    this.#holders = new Set(holders);
    this.#running = new Set(running);
  }

  /** Applies a change that another engine wrote. */
  apply(change: ForeignChange): void {
    if (change.kind === "started" || (change.kind === "added" && change.run.outcome === null))
      this.#running.add(change.run.seq);
    else if (change.kind === "finished") this.#running.delete(change.run.seq);
    else if (change.kind === "holders") this.#holders = new Set(change.holders);
    else if (change.kind === "released") this.#holders.delete(change.engine);
  }
}
