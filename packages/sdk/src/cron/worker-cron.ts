import { ask, type HelperCalls } from "../items/helper-calls.ts";
import type { HelperOptions } from "../items/item-types.ts";
import type { CronRun, CronSchedule, CronTriggered } from "./cron-types.ts";

interface SchedulePage {
  readonly triggers: readonly CronSchedule[];
  /** Null on the last page. */
  readonly cursor?: string | null;
}

/** Schedules, kept by the module `svc-cron`: what the triggers of type `cron` do. All of it rejects with CallError, as `worker.call` does. */
export class WorkerCron {
  readonly #calls: HelperCalls;

  /** Not for users: a worker has one, and so has a handler's context. */
  constructor(calls: HelperCalls) {
    this.#calls = calls;
  }

  /** All of them, page by page. */
  async list(options?: HelperOptions): Promise<readonly CronSchedule[]> {
    const listed: CronSchedule[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await ask<SchedulePage>(this.#calls, "cron::list", { cursor }, options);
      listed.push(...page.triggers);
      cursor = page.cursor;
    } while (cursor !== null && cursor !== undefined);
    return listed;
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
