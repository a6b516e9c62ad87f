import {
  callFunction,
  converted,
  type HelperCalls,
  type HelperMethod,
  helperClass,
  helperOptions,
  memberOf,
  nothing,
} from "../items/helper-methods.ts";
import type { HelperOptions } from "../items/item-types.ts";
import { engineResult } from "../names/engine-result.ts";
import type { CronSchedule } from "./cron-types.ts";
import type { WorkerCron } from "./worker-cron.ts";

interface SchedulePage {
  readonly triggers: readonly CronSchedule[];
  /** Null on the last page. */
  readonly cursor?: string | null;
}

const LIST: HelperMethod = ["cron::list", ["cursor"], converted({ triggers: { last_run: {} } })];

/** The methods of `WorkerCron` that only call a function of the engine. */
export class CronCalls extends /* @__PURE__ */ helperClass<Omit<WorkerCron, "list">>("cron", {
  history: ["cron::history", ["trigger_id"], /* @__PURE__ */ memberOf("runs"), ["limit"]],
  triggerNow: ["cron::trigger_now", ["trigger_id"], engineResult],
  pause: ["cron::pause", ["trigger_id"], nothing],
  resume: ["cron::resume", ["trigger_id"], nothing],
}) {
  readonly #calls: HelperCalls;

  constructor(calls: HelperCalls) {
    super(calls);
    this.#calls = calls;
  }

  async list(options?: HelperOptions): Promise<readonly CronSchedule[]> {
    const listed: CronSchedule[] = [];
    let cursor: string | null | undefined;
    do {
      const args = [cursor, options];
      const page = (await callFunction(this.#calls, LIST, helperOptions("cron.list"), args)) as SchedulePage;
      listed.push(...page.triggers);
      cursor = page.cursor;
    } while (cursor !== null && cursor !== undefined);
    return listed;
  }
}
