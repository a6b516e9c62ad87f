import type { BackoffOptions } from "@svc/protocol";
import type { QueueLimits } from "./store/job.ts";

/** How a queue treats its jobs. */
export interface QueueSettings {
  readonly type: "standard" | "fifo";
  /** Of a FIFO queue: the member of the data that names the group. */
  readonly groupField: string | undefined;
  /** Jobs that run at a time. */
  readonly concurrency: number;
  /** Attempts in all, the first included. */
  readonly maxAttempts: number;
  /** Delay before a failed job runs again. */
  readonly backoff: Required<Omit<BackoffOptions, "factor">>;
  /** Deadline of one attempt. */
  readonly timeoutMs: number;
  /** Each job waits this long before its first attempt, unless it says otherwise. */
  readonly delayMs: number;
  /** The member of the data that holds the priority, where the job does not say it. */
  readonly priorityField: string | undefined;
  /** 1 to 255; priorities are cut to 0 … this. */
  readonly maxPriority: number;
  readonly dedupeWindowMs: number;
  readonly maxJobBytes: number;
  readonly limits: QueueLimits;
}

export const defaultQueueSettings: QueueSettings = {
  type: "standard",
  groupField: undefined,
  concurrency: 10,
  maxAttempts: 3,
  backoff: { growth: "exponential", firstMs: 1_000, maxMs: 15 * 60_000, jitter: 0.1 },
  timeoutMs: 15 * 60_000,
  delayMs: 0,
  priorityField: undefined,
  maxPriority: 255,
  dedupeWindowMs: 10 * 60_000,
  maxJobBytes: 8 * 1024 * 1024,
  limits: { maxDepth: 1_000_000, maxBytes: 1024 * 1024 * 1024, maxDead: 100_000 },
};
