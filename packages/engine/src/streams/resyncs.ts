import { CallError } from "@svc-runtime/protocol";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import { READ_DEADLINE_MS } from "./limits.ts";
import type { Subscription, Topic } from "./topic.ts";
import { withTimeout } from "./with-timeout.ts";

/** Minimum time between two resyncs of one group, in milliseconds. */
const PAUSE_MS = 1_000;
/** Maximum time between two attempts to read a group that cannot be read, in milliseconds. */
const LONGEST_PAUSE_MS = 30_000;

/** The state of a group that was resynchronized recently or waits for this. */
interface Round {
  /**
   * Subscriptions to resynchronize. Each has the number of the last event that it certainly got. They get no events
   * until they are synchronized.
   */
  readonly stale: Map<Subscription, number>;
  /** Cancels the pause before the next read. */
  cancelPause: (() => void) | undefined;
  isReading: boolean;
  pauseMs: number;
}

export interface ResyncsParts {
  readonly clock: Clock;
  readonly log: Logger;
  /** Sends the content of its group to the subscription. */
  readonly reopen: (subscription: Subscription, since: number) => void;
}

/**
 * Resynchronizes groups that may have changed without an event. A group is first read once, at most once a second, to
 * find out whether the store works. Only if it does, all subscriptions of the group read it. So thousands of clients do
 * not query a store that hangs.
 */
export class Resyncs {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #reopen: ResyncsParts["reopen"];
  readonly #rounds = new Map<Topic, Round>();

  constructor({ clock, log, reopen }: ResyncsParts) {
    this.#clock = clock;
    this.#log = log;
    this.#reopen = reopen;
  }

  /**
   * Resynchronizes a group whose sequence number has just advanced without an event. Subscriptions that are being
   * opened are left out, because they read the group anyway.
   */
  begin(topic: Topic): void {
    for (const subscription of topic.subscriptions())
      if (subscription.state === "live") this.add(subscription, topic.seq - 1);
  }

  add(subscription: Subscription, since: number): void {
    const { topic } = subscription;
    if (topic === undefined) return;
    subscription.state = "opening";
    let round = this.#rounds.get(topic);
    if (round === undefined) {
      round = { stale: new Map(), cancelPause: undefined, isReading: false, pauseMs: PAUSE_MS };
      this.#rounds.set(topic, round);
    }
    round.stale.set(subscription, since);
    // With a pause of 0 ms, all subscriptions that are added in this turn share one read.
    if (!round.isReading && round.cancelPause === undefined) this.#pause(topic, round, 0);
  }

  /** Removes a subscription that ends. To be called while `subscription.topic` is still set. */
  forget(subscription: Subscription): void {
    const { topic } = subscription;
    if (topic !== undefined) this.#rounds.get(topic)?.stale.delete(subscription);
  }

  #pause(topic: Topic, round: Round, ms: number): void {
    round.cancelPause = this.#clock.after(ms, () => {
      round.cancelPause = undefined;
      const [first] = round.stale.keys();
      if (first === undefined) this.#rounds.delete(topic);
      else void this.#read(topic, round, first);
    });
  }

  /** Reads the group with the first subscription. The promise never rejects. */
  async #read(topic: Topic, round: Round, { join, source }: Subscription): Promise<void> {
    round.isReading = true;
    const { stream, group, id } = join;
    const error = await withTimeout(this.#clock, READ_DEADLINE_MS, `reading ${stream}`, async () =>
      source?.snapshot(stream, group, id),
    ).then(
      () => undefined,
      (thrown: unknown) => CallError.from(thrown),
    );
    round.isReading = false;
    if (error !== undefined && isTransient(error)) {
      if (round.pauseMs === PAUSE_MS)
        this.#log.warn("a stream cannot be read after an unclear write; its clients wait", { stream, group, error });
      this.#pause(topic, round, round.pauseMs);
      round.pauseMs = Math.min(2 * round.pauseMs, LONGEST_PAUSE_MS);
      return;
    }
    // After a success or a permanent failure, each subscription reads the group. If the failure is permanent, each gets
    // the error from its own read.
    round.pauseMs = PAUSE_MS;
    const stale = [...round.stale];
    round.stale.clear();
    this.#pause(topic, round, PAUSE_MS);
    for (const [subscription, since] of stale) this.#reopen(subscription, since);
  }
}

/** Returns true if a retry may succeed. */
export function isTransient({ code }: CallError): boolean {
  return code === "storage_failed" || code === "store_unavailable" || code === "call_timeout" || code === "overloaded";
}
