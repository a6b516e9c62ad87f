/** Payload of the function of a `cron` trigger. Times are RFC 3339 in UTC. */
export interface CronEvent {
  readonly trigger: "cron";
  readonly job_id: string;
  /** Time at which the run was due. */
  readonly scheduled_time: string;
  /** Time at which the run started. */
  readonly actual_time: string;
  /** Present if `cron::trigger_now` started the run instead of the schedule. */
  readonly manual?: true;
}

/** Result of a tick. */
export type CronOutcome = "ok" | "error" | "skipped" | "enqueued";

export interface CronRun {
  /** Due time. If one run stands for several ticks, the due time of the last one. */
  readonly scheduledTime: string;
  /** Null if no run was started. */
  readonly startedAt: string | null;
  /** Null while the run is in progress. */
  readonly finishedAt: string | null;
  /** Null while the run is in progress. */
  readonly outcome: CronOutcome | null;
  /** Why the run failed or was skipped. */
  readonly error?: string;
  /** Whether `cron::trigger_now` started it. */
  readonly manual?: boolean;
  /** Number of ticks without a run of their own that this run represents. */
  readonly passedOver?: number;
  /** @deprecated Use `scheduledTime`. */
  readonly scheduled_time: string;
  /** @deprecated Use `startedAt`. */
  readonly started_at: string | null;
  /** @deprecated Use `finishedAt`. */
  readonly finished_at: string | null;
  /** @deprecated Use `passedOver`. */
  readonly passed_over?: number;
}

/** A trigger of type `cron` and its schedule. */
export interface CronSchedule {
  readonly triggerId: string;
  readonly functionId: string;
  readonly expression: string;
  readonly timezone: string;
  readonly status: "active" | "paused" | "inactive" | "error";
  /** Why the trigger is inactive or in error. */
  readonly reason?: string;
  /** The next five runs, RFC 3339 in UTC. Fewer if the schedule ends earlier, none while it is paused. */
  readonly nextRuns: readonly string[];
  readonly lastRun?: CronRun;
  readonly overlap: "skip" | "allow" | "queue_one";
  readonly misfire: "skip" | "once" | "all";
  /** Queue to which ticks are added as jobs. Null if ticks call the function. */
  readonly queue: string | null;
  /** @deprecated Use `triggerId`. */
  readonly trigger_id: string;
  /** @deprecated Use `functionId`. */
  readonly function_id: string;
  /** @deprecated Use `nextRuns`. */
  readonly next_runs: readonly string[];
  /** @deprecated Use `lastRun`. */
  readonly last_run?: CronRun;
}

/** Result of `worker.cron.triggerNow`. */
export interface CronTriggered extends CronRun {
  readonly triggerId: string;
  readonly functionId: string;
  /** The function's result. */
  readonly result?: unknown;
  /** @deprecated Use `triggerId`. */
  readonly trigger_id: string;
  /** @deprecated Use `functionId`. */
  readonly function_id: string;
}
