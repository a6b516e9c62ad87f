import { CallError } from "@svc/protocol";
import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { READ_DEADLINE_MS } from "./stream-codes.ts";
import type { Subscription } from "./subscription.ts";
import type { Topic } from "./topic.ts";
import { within } from "./within.ts";

/** Least time between two resyncs of one group, in milliseconds. */
const PAUSE_MS = 1_000;
/** Longest time between two tries to read a group that cannot be read, in milliseconds. */
const LONGEST_PAUSE_MS = 30_000;

/** One group that was resynced a moment ago, or waits for it. */
interface Round {
  /** Who has to be sent what there is, with the number up to which it knows everything. They get no events meanwhile. */
  readonly stale: Map<Subscription, number>;
  /** Until the group may be read again. */
  cancelPause: (() => void) | undefined;
  isReading: boolean;
  pauseMs: number;
}

export interface ResyncsParts {
  readonly clock: Clock;
  readonly log: Logger;
  /** Sends the subscription what there is. */
  readonly reopen: (subscription: Subscription, since: number) => void;
}

/**
 * Groups in which something may have changed that no event tells of. One read for each group and second at most finds out whether the store answers; only
 * then everyone concerned is brought up to date, so that a store that hangs is not asked by thousands.
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

  /** The number of the group has moved on just now, without an event. Who is being opened reads anew by itself. */
  begin(topic: Topic): void {
    for (const subscription of topic.subscriptions()) if (subscription.state === "live") this.add(subscription, topic.seq - 1);
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
    // All who are added in this turn are found by the same read.
    if (!round.isReading && round.cancelPause === undefined) this.#pause(topic, round, 0);
  }

  /** The subscription has ended. Call it while it has its topic. */
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

  /** Never rejects. */
  async #read(topic: Topic, round: Round, { join, source }: Subscription): Promise<void> {
    round.isReading = true;
    const { stream, group, id } = join;
    const error = await within(this.#clock, READ_DEADLINE_MS, `reading ${stream}`, async () => source?.snapshot(stream, group, id)).then(
      () => undefined,
      (thrown: unknown) => CallError.from(thrown),
    );
    round.isReading = false;
    if (error !== undefined && mayPass(error)) {
      if (round.pauseMs === PAUSE_MS) this.#log.warn("a stream cannot be read after an unclear write; its clients wait", { stream, group, error });
      this.#pause(topic, round, round.pauseMs);
      round.pauseMs = Math.min(2 * round.pauseMs, LONGEST_PAUSE_MS);
      return;
    }
    // What cannot be read for good is told to each by its own read.
    round.pauseMs = PAUSE_MS;
    const stale = [...round.stale];
    round.stale.clear();
    this.#pause(topic, round, PAUSE_MS);
    for (const [subscription, since] of stale) this.#reopen(subscription, since);
  }
}

/** The store may answer when it is asked again. */
export function mayPass({ code }: CallError): boolean {
  return code === "storage_failed" || code === "call_timeout" || code === "overloaded";
}
