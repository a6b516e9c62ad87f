import { callEngine, callForResult, type HelperCalls, helperOptions } from "../items/call-engine.ts";
import type { HelperOptions } from "../items/item-types.ts";
import type { CronRun, CronSchedule, CronTriggered } from "./cron-types.ts";

const OPTIONS = helperOptions("cron", { list: [], history: ["limit"], triggerNow: [], pause: [], resume: [] });

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
      const page: SchedulePage = await callForResult(
        this.#calls,
        "cron::list",
        { cursor },
        options,
        OPTIONS.list,
        shape,
      );
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
    const { runs } = await callForResult<{ readonly runs: readonly CronRun[] }>(
      this.#calls,
      "cron::history",
      { trigger_id: triggerId, limit: options?.limit },
      options,
      OPTIONS.history,
      { runs: {} },
    );
    return runs;
  }

  /** Runs the trigger once, now. Resolves when the run has ended. */
  triggerNow(triggerId: string, options?: HelperOptions): Promise<CronTriggered> {
    return callForResult(this.#calls, "cron::trigger_now", { trigger_id: triggerId }, options, OPTIONS.triggerNow);
  }

  /** Starts no runs until `resume`, even after a restart of the engine. */
  async pause(triggerId: string, options?: HelperOptions): Promise<void> {
    await callEngine(this.#calls, "cron::pause", { trigger_id: triggerId }, options, OPTIONS.pause);
  }

  async resume(triggerId: string, options?: HelperOptions): Promise<void> {
    await callEngine(this.#calls, "cron::resume", { trigger_id: triggerId }, options, OPTIONS.resume);
  }
}
