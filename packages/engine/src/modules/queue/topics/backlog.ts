import { CallError, type Payload } from "@svc-runtime/protocol";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";
import type { Trace } from "../spans.ts";
import type { Maker } from "../store/job.ts";
import type { QueueStore } from "../store/queue-store.ts";
import type { BacklogBounds } from "../store/topic.ts";

/** Bounds of the backlog. Beyond them the oldest messages are dropped. */
export const BACKLOG_BOUNDS: BacklogBounds = {
  messages: 10_000,
  bytes: 64 * 1024 ** 2,
  allMessages: 100_000,
  allBytes: 512 * 1024 ** 2,
  ageMs: 7 * 24 * 3_600_000,
};

/** Minimum time between two warnings about one topic. */
const WARN_EVERY_MS = 60_000;
/** Maximum topics whose last warning is remembered. */
const MAX_WARNED = 1_000;

/** Stores messages of topics without subscriptions. */
export class Backlog {
  readonly #store: QueueStore;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Monotonic time of the last warning per topic. The topic with the latest warning is last. */
  readonly #warned = new Map<string, number>();

  constructor(parts: { readonly store: QueueStore; readonly clock: Clock; readonly log: Logger }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /**
   * Stores a message and resolves with true when it is on disk. Resolves with false, without storing the message, if
   * the topic has subscriptions by now. Rejects with CallError `payload_too_large` or `storage_failed`.
   */
  async keep(
    id: string,
    topic: string,
    data: Payload,
    trace: Trace,
    { maker, maxBytes }: { readonly maker: Maker | undefined; readonly maxBytes: number },
  ): Promise<boolean> {
    const text = data.text();
    const bytes = Buffer.byteLength(text);
    if (bytes > maxBytes) {
      throw new CallError("payload_too_large", `the message has ${bytes} bytes; a topic accepts at most ${maxBytes}`, {
        details: { bytes, limit: maxBytes },
      });
    }
    const message = { id, topic, data: text, bytes, maker, ...trace };
    const { old, dropped, hasSubscriptions } = await this.#store.call(
      "addToBacklog",
      { message, bounds: BACKLOG_BOUNDS },
      { bytes },
    );
    if (old > 0) this.#log.info("messages without a subscription dropped after a week", { messages: old });
    if (dropped > 0 && this.#mayWarn(topic)) {
      this.#log.warn("backlog of a topic without subscriptions is full; dropping its oldest messages", {
        topic,
        bounds: BACKLOG_BOUNDS,
      });
    }
    return hasSubscriptions !== true;
  }

  async dropOld(): Promise<void> {
    while ((await this.#store.call("dropOld", { ageMs: BACKLOG_BOUNDS.ageMs })) > 0);
  }

  #mayWarn(topic: string): boolean {
    const now = this.#clock.monotonic();
    const last = this.#warned.get(topic);
    if (last !== undefined && now - last < WARN_EVERY_MS) return false;
    this.#warned.delete(topic);
    this.#warned.set(topic, now);
    const [oldest] = this.#warned.keys();
    if (this.#warned.size > MAX_WARNED && oldest !== undefined) this.#warned.delete(oldest);
    return true;
  }
}
