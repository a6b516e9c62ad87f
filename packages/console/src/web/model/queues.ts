/** A queue, as listed by `queue::list`. */
export interface QueueStats {
  readonly queue: string;
  readonly waiting: number;
  readonly delayed: number;
  readonly active: number;
  readonly dead: number;
  readonly bytes: number;
  readonly paused: boolean;
  readonly added: number;
  readonly done: number;
  readonly died: number;
  readonly expired: number;
  readonly cancelled: number;
  /** Null if the queue has jobs but is not declared. */
  readonly type: "standard" | "fifo" | null;
  readonly concurrency: number | null;
  /** Topic of a subscription. */
  readonly topic: string | null;
}
