import { CallError, type Payload } from "@svc/protocol";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";
import type { Maker } from "../store/job.ts";
import type { QueueStore } from "../store/queue-store.ts";
import type { BacklogBounds } from "../store/topic.ts";

/** Beyond them the oldest messages of topics without subscriptions go. */
export const BACKLOG_BOUNDS: BacklogBounds = {
  messages: 10_000,
  bytes: 64 * 1024 ** 2,
  allMessages: 100_000,
  allBytes: 512 * 1024 ** 2,
  ageMs: 7 * 24 * 3_600_000,
};

/** A topic that drops messages is not logged about more often. */
const WARN_EVERY_MS = 60_000;
/** Topics that are remembered for that. */
const MAX_WARNED = 1_000;

export interface Trace {
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
}

/** Keeps what is published to topics that nobody has subscribed to. */
export class Backlog {
  readonly #store: QueueStore;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** When it was said of a topic, by the monotonic clock; the one said last stands last. */
  readonly #warned = new Map<string, number>();

  constructor(parts: { readonly store: QueueStore; readonly clock: Clock; readonly log: Logger }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** Resolves when it is on the disk. Rejects with CallError `payload_too_large`, `storage_failed`. */
  async keep(
    id: string,
    topic: string,
    data: Payload,
    trace: Trace,
    { maker, maxBytes }: { readonly maker: Maker | undefined; readonly maxBytes: number },
  ): Promise<void> {
    const text = data.text();
    const bytes = Buffer.byteLength(text);
    if (bytes > maxBytes) {
      throw new CallError("payload_too_large", `the message has ${bytes} bytes; a topic takes ${maxBytes}`, { details: { bytes, limit: maxBytes } });
    }
    const message = { id, topic, data: text, bytes, maker, ...trace };
    const { old, dropped } = await this.#store.call("keep", { message, now: this.#clock.now(), bounds: BACKLOG_BOUNDS }, { bytes });
    if (old > 0) this.#log.info("messages that nobody subscribed to for a week are dropped", { messages: old });
    if (dropped > 0 && this.#mayWarn(topic)) {
      this.#log.warn("nobody has subscribed to a topic, and as many of its messages wait as may; the oldest are dropped", { topic, bounds: BACKLOG_BOUNDS });
    }
  }

  async dropOld(now: number): Promise<void> {
    while ((await this.#store.call("dropOld", { before: now - BACKLOG_BOUNDS.ageMs })) > 0);
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
