import { type HelperCalls, HelperMethods } from "../items/helper-methods.ts";
import type { HelperOptions } from "../items/item-types.ts";
import type { CronRun, CronSchedule, CronTriggered } from "./cron-types.ts";

const METHODS = /* @__PURE__ */ new HelperMethods("cron", { history: ["limit"] });

interface SchedulePage {
  readonly triggers: readonly CronSchedule[];
  /** Null on the last page. */
  readonly cursor?: string | null;
}

/**
 * The schedules of the triggers of type `cron` (module `svc-cron`). All methods reject with CallError, as `worker.call`
 * does.
 */
export class WorkerCron {
  readonly #calls: HelperCalls;

  /** Internal: available as a member of a worker and of a handler's context. */
  constructor(calls: HelperCalls) {
    this.#calls = calls;
  }

  /** Returns all schedules. Requests them page by page. */
  async list(options?: HelperOptions): Promise<readonly CronSchedule[]> {
    const listed: CronSchedule[] = [];
    let cursor: string | null | undefined;
    do {
      const shape = { triggers: { last_run: {} } };
      const page: SchedulePage = await METHODS.result(this.#calls, "list", { cursor }, options, shape);
      listed.push(...page.triggers);
      cursor = page.cursor;
    } while (cursor !== null && cursor !== undefined);
    return listed;
  }

  /** Returns the last runs, latest first. `limit`: maximum number. */
  async history(
    triggerId: string,
    options?: HelperOptions & { readonly limit?: number | undefined },
  ): Promise<readonly CronRun[]> {
    const { runs } = await METHODS.result<{ readonly runs: readonly CronRun[] }>(
      this.#calls,
      "history",
      { trigger_id: triggerId, limit: options?.limit },
      options,
      { runs: {} },
    );
    return runs;
  }

  /** Runs the trigger once, now. Resolves when the run has ended. */
  triggerNow(triggerId: string, options?: HelperOptions): Promise<CronTriggered> {
    return METHODS.result(this.#calls, "triggerNow", { trigger_id: triggerId }, options);
  }

  /** Starts no runs until `resume`, even after a restart of the engine. */
  async pause(triggerId: string, options?: HelperOptions): Promise<void> {
    await METHODS.call(this.#calls, "pause", { trigger_id: triggerId }, options);
  }

  async resume(triggerId: string, options?: HelperOptions): Promise<void> {
    await METHODS.call(this.#calls, "resume", { trigger_id: triggerId }, options);
  }
}
