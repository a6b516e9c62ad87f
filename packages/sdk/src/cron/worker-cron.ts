import { ask, type HelperCalls } from "../items/helper-calls.ts";
import type { HelperOptions } from "../items/item-types.ts";
import type { CronRun, CronSchedule, CronTriggered } from "./cron-types.ts";

/** Schedules, kept by the module `svc-cron`: what the triggers of type `cron` do. All of it rejects with CallError, as `worker.call` does. */
export class WorkerCron {
  readonly #calls: HelperCalls;

  /** Not for users: a worker has one, and so has a handler's context. */
  constructor(calls: HelperCalls) {
    this.#calls = calls;
  }

  async list(options?: HelperOptions): Promise<readonly CronSchedule[]> {
    return (await ask<{ readonly triggers: readonly CronSchedule[] }>(this.#calls, "cron::list", {}, options)).triggers;
  }

  /** Its last runs, the latest first. `limit`: how many at most. */
  async history(triggerId: string, { limit, ...options }: HelperOptions & { readonly limit?: number | undefined } = {}): Promise<readonly CronRun[]> {
    return (await ask<{ readonly runs: readonly CronRun[] }>(this.#calls, "cron::history", { trigger_id: triggerId, limit }, options)).runs;
  }

  /** Runs it once, now; resolves when that has ended. */
  triggerNow(triggerId: string, options?: HelperOptions): Promise<CronTriggered> {
    return ask(this.#calls, "cron::trigger_now", { trigger_id: triggerId }, options);
  }

  /** Nothing is started until `resume`, over restarts too. */
  async pause(triggerId: string, options?: HelperOptions): Promise<void> {
    await ask(this.#calls, "cron::pause", { trigger_id: triggerId }, options);
  }

  async resume(triggerId: string, options?: HelperOptions): Promise<void> {
    await ask(this.#calls, "cron::resume", { trigger_id: triggerId }, options);
  }
}
