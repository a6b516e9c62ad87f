import type { BackoffOptions } from "@svc-runtime/protocol";
import type { KeepDone, QueueLimits } from "./store/job.ts";

/** Settings of a queue. */
export interface QueueSettings {
  readonly type: "standard" | "fifo";
  /** fifo queues: the field of the data that names the group. */
  readonly groupField: string | undefined;
  /** Maximum concurrent jobs. */
  readonly concurrency: number;
  /** Maximum attempts, including the first. */
  readonly maxAttempts: number;
  /** Delay before a failed job runs again. */
  readonly backoff: Required<Omit<BackoffOptions, "factor">>;
  /** Timeout of one attempt. */
  readonly timeoutMs: number;
  /** Delay before the first attempt of jobs that set no delay. */
  readonly delayMs: number;
  /** Field of the data that holds the priority of jobs that set no priority. */
  readonly priorityField: string | undefined;
  /** 1 to 255. A job with a higher priority gets this priority. */
  readonly maxPriority: number;
  readonly dedupeWindowMs: number;
  readonly maxJobBytes: number;
  readonly limits: QueueLimits;
  readonly keepDone: KeepDone;
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
  keepDone: { count: 1_000, ageMs: 3_600_000 },
};
