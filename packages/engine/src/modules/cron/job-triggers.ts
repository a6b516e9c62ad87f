import type { Logger } from "../../kernel/logger.ts";
import { type Principal, TRUSTED, type TriggerBinding } from "../../kernel/module.ts";
import type { CronSettings } from "./settings.ts";
import type { CronStore } from "./store/cron-store.ts";

type Trigger = TriggerBinding<CronSettings>;

/** The services that the triggers of a job use. */
export interface TriggersHost {
  readonly log: Logger;
  readonly store: CronStore;
  /** True while the module stops: no run starts, and no owner is stored. */
  readonly stopped: boolean;
  isAvailable(trigger: Trigger): boolean;
  /** Makes the module's stop wait for the work. */
  track(work: Promise<unknown>): void;
}

/** The equal triggers that share one job. Stores whether one of them belongs to a trusted worker. */
export class JobTriggers {
  readonly #triggers = new Set<Trigger>();
  readonly #job: { readonly id: string; readonly functionId: string };
  readonly #host: TriggersHost;
  /** The error that the triggers report. */
  #problem: string | undefined;

  constructor(job: { readonly id: string; readonly functionId: string }, host: TriggersHost) {
    this.#job = job;
    this.#host = host;
  }

  get isEmpty(): boolean {
    return this.#triggers.size === 0;
  }

  get first(): Trigger | undefined {
    return this.#triggers.values().next().value;
  }

  /** A trigger whose function can be called now, preferably a trigger of a trusted worker. */
  get available(): Trigger | undefined {
    const available = [...this.#triggers].filter((trigger) => this.#host.isAvailable(trigger));
    return available.find(({ principal }) => principal.isTrusted) ?? available[0];
  }

  get hasTrusted(): boolean {
    return [...this.#triggers].some(({ principal }) => principal.isTrusted);
  }

  /** The principal whose share of the slots the runs use. */
  get principal(): Principal {
    const principals = [...this.#triggers].map(({ principal }) => principal);
    return principals.find(({ isTrusted }) => isTrusted) ?? principals[0] ?? TRUSTED;
  }

  /** Adds a trigger. Returns true if it is the only trigger. */
  add(trigger: Trigger): boolean {
    this.#triggers.add(trigger);
    if (this.#problem !== undefined) trigger.report(this.#problem);
    if (this.#triggers.size === 1) return true;
    if (trigger.principal.isTrusted) this.#storeOwner(true);
    return false;
  }

  /** Removes a trigger. Returns true if no trigger is left. */
  remove(trigger: Trigger): boolean {
    this.#triggers.delete(trigger);
    if (this.isEmpty) return true;
    if (trigger.principal.isTrusted && trigger.ended === "withdrawn" && !this.hasTrusted) this.#storeOwner(false);
    return false;
  }

  /** Call when the principal of a trigger has changed. */
  principalChanged(trigger: Trigger): void {
    if (trigger.principal.isTrusted) this.#storeOwner(true);
    else if (trigger.isGivenUp && !this.hasTrusted) this.#storeOwner(false);
  }

  /** Shows the error of the job at its triggers, or none. */
  report(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    for (const trigger of this.#triggers) trigger.report(problem);
  }

  /**
   * Stores whether the job belongs to a trusted worker. If it does, a restricted connection that unregisters an equal
   * trigger does not retire the job. So the ticks that are due while the trusted worker is away are not lost.
   */
  #storeOwner(isTrusted: boolean): void {
    const { store, log, stopped } = this.#host;
    if (stopped) return;
    const { id, functionId } = this.#job;
    this.#host.track(
      store
        .setOwner({ id, isTrusted })
        .catch((error: unknown) =>
          log.warn("owner of a cron trigger could not be stored", { job: id, function: functionId, error }),
        ),
    );
  }
}
