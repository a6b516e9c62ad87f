import type { HelperCalls } from "../items/helper-methods.ts";
import { helperOnDemand } from "../items/helper-on-demand.ts";
import type { HelperOptions } from "../items/item-types.ts";
import type { Part } from "../on-demand.ts";
import type { CronRun, CronSchedule, CronTriggered } from "./cron-types.ts";

/** Schedules of the `cron` triggers (module `svc-cron`). All methods reject with CallError, like `worker.call`. */
export interface WorkerCron {
  /** Returns all schedules. Requests them page by page. */
  list(options?: HelperOptions): Promise<readonly CronSchedule[]>;
  /** Returns the last runs, the latest first. `limit` is the maximum number. */
  history(
    triggerId: string,
    options?: HelperOptions & { readonly limit?: number | undefined },
  ): Promise<readonly CronRun[]>;
  /** Runs the trigger once, now. Resolves when the run has ended. */
  triggerNow(triggerId: string, options?: HelperOptions): Promise<CronTriggered>;
  /** Pauses the trigger: no runs are started until `resume`, even after a restart of the engine. */
  pause(triggerId: string, options?: HelperOptions): Promise<void>;
  resume(triggerId: string, options?: HelperOptions): Promise<void>;
}

const METHODS = ["list", "history", "triggerNow", "pause", "resume"] as const satisfies readonly (keyof WorkerCron)[];

/** The part of the SDK that implements `WorkerCron`. */
export interface CronPart {
  readonly CronCalls: new (calls: HelperCalls) => WorkerCron;
}

/** Returns the member `cron` of a worker or of a handler's context. */
export function workerCron(calls: HelperCalls, part: Part<CronPart>): WorkerCron {
  return helperOnDemand(part, ({ CronCalls }) => new CronCalls(calls), METHODS);
}
