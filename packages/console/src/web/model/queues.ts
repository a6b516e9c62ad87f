/** A queue as `queue::list` tells of it. */
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
  /** Null: the queue holds something, but is not declared. */
  readonly type: "standard" | "fifo" | null;
  readonly concurrency: number | null;
  /** Of a subscription: its topic. */
  readonly topic: string | null;
}
