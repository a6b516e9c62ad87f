/** What the function of a `cron` trigger is called with. Times are RFC 3339 in UTC. */
export interface CronEvent {
  readonly trigger: "cron";
  readonly job_id: string;
  /** When it was due. */
  readonly scheduled_time: string;
  /** When it began. */
  readonly actual_time: string;
}

/** How a tick went. */
export type CronOutcome = "ok" | "error" | "skipped" | "enqueued";

export interface CronRun {
  readonly scheduled_time: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly outcome: CronOutcome;
  /** Why it failed, or was skipped. */
  readonly error?: string | null;
}

/** One trigger of type `cron` and when it runs. */
export interface CronSchedule {
  readonly trigger_id: string;
  readonly function_id: string;
  readonly expression: string;
  readonly timezone: string;
  readonly status: "active" | "paused" | "inactive" | "error";
  /** The next five, RFC 3339 in UTC; fewer where the schedule ends before. */
  readonly next_runs: readonly string[];
  readonly last_run?: CronRun | null;
  readonly overlap: "skip" | "allow" | "queue_one";
  readonly misfire: "skip" | "once" | "all";
  /** Where ticks become jobs. */
  readonly queue?: string | null;
}

/** What `worker.cron.triggerNow` answers. */
export interface CronTriggered {
  readonly scheduled_time: string;
  readonly outcome: CronOutcome;
  readonly error?: string | null;
}
