/** What the function of a `cron` trigger is called with. Times are RFC 3339 in UTC. */
export interface CronEvent {
  readonly trigger: "cron";
  readonly job_id: string;
  /** When it was due. */
  readonly scheduled_time: string;
  /** When it began. */
  readonly actual_time: string;
  /** `cron::trigger_now` asked for it, not its schedule. */
  readonly manual?: true;
}

/** How a tick went. */
export type CronOutcome = "ok" | "error" | "skipped" | "enqueued";

export interface CronRun {
  /** When it was due; of several ticks that were passed over together, the last. */
  readonly scheduled_time: string;
  /** Null: nothing was started. */
  readonly started_at: string | null;
  /** Null: it goes on. */
  readonly finished_at: string | null;
  /** Null: it goes on. */
  readonly outcome: CronOutcome | null;
  /** Why it failed, or was skipped. */
  readonly error?: string;
  /** Somebody asked for it. */
  readonly manual?: boolean;
  /** Ticks that nothing was started for, and that this one stands for. */
  readonly passed_over?: number;
}

/** One trigger of type `cron` and when it runs. */
export interface CronSchedule {
  readonly trigger_id: string;
  readonly function_id: string;
  readonly expression: string;
  readonly timezone: string;
  readonly status: "active" | "paused" | "inactive" | "error";
  /** Why it is inactive or in error. */
  readonly reason?: string;
  /** The next five, RFC 3339 in UTC; fewer where the schedule ends before, none while it is paused. */
  readonly next_runs: readonly string[];
  readonly last_run?: CronRun;
  readonly overlap: "skip" | "allow" | "queue_one";
  readonly misfire: "skip" | "once" | "all";
  /** Where ticks become jobs. */
  readonly queue: string | null;
}

/** What `worker.cron.triggerNow` answers. */
export interface CronTriggered extends CronRun {
  readonly trigger_id: string;
  readonly function_id: string;
  /** What the function answered. */
  readonly result?: unknown;
}
