import { CallError } from "@svc-runtime/protocol";
import type { StreamSnapshot } from "../kernel/stream-contract.ts";
import { type NumberedEvent, OutgoingEvent } from "./event-message.ts";
import { MAX_SUBSCRIPTIONS, READ_DEADLINE_MS } from "./limits.ts";
import type { Outbox } from "./outbox.ts";
import { isTransient } from "./resyncs.ts";
import { type Gap, gapNotice, joined, sync } from "./server-messages.ts";
import { snapshotOverlap } from "./snapshot-overlap.ts";
import type { StreamParts } from "./stream-parts.ts";
import { SYSTEM_PREFIX } from "./stream-path.ts";
import type { Subscription, Topic } from "./topic.ts";
import { withTimeout } from "./with-timeout.ts";

/** Maximum number of times that a group is read for one snapshot, if it changes during each read. */
const MAX_READS = 5;

/** The position from which a client resumes. */
export interface Since {
  readonly epoch: string;
  readonly seq: number;
}

export interface SynchronizerParts {
  readonly parts: StreamParts;
  readonly outbox: Outbox;
  readonly isExtended: () => boolean;
  /** Called when the subscription cannot continue. */
  readonly failed: (subscription: Subscription, error: CallError) => void;
}

/**
 * Synchronizes the subscriptions of one connection. Sends a snapshot or the missed events, and then live events without
 * a gap. Handles one subscription at a time, so that a connection has at most one snapshot in its buffer.
 */
export class Synchronizer {
  readonly #parts: StreamParts;
  readonly #outbox: Outbox;
  readonly #isExtended: () => boolean;
  readonly #failed: SynchronizerParts["failed"];
  #queue: { readonly subscription: Subscription; readonly run: () => Promise<void> }[] = [];
  #busy = false;

  constructor({ parts, outbox, isExtended, failed }: SynchronizerParts) {
    this.#parts = parts;
    this.#outbox = outbox;
    this.#isExtended = isExtended;
    this.#failed = failed;
  }

  /** Opens a new subscription. */
  open(subscription: Subscription, since: Since | undefined): void {
    if (!this.#busy && this.#outbox.hasRoom && isSystem(subscription)) this.#openSystem(subscription, since);
    else this.#later(subscription, () => this.#start(subscription, since));
  }

  /** Sends the content again after a gap. */
  reopen(subscription: Subscription, gap: Gap): void {
    subscription.state = "opening";
    this.#later(subscription, () => this.#read(subscription, gap, { isJoin: false }));
  }

  async #start(subscription: Subscription, since: Since | undefined): Promise<void> {
    if (!(await this.#outbox.room()) || subscription.hasEnded) return;
    const start = this.#resume(subscription, since);
    if (start !== "resumed") await this.#read(subscription, start, { isJoin: true });
  }

  #openSystem(subscription: Subscription, since: Since | undefined): void {
    const start = this.#resume(subscription, since);
    if (start === "resumed") return;
    this.#readSystem(subscription, start, { isJoin: true });
  }

  /**
   * Sends the missed events if possible, and returns `resumed`. Otherwise returns the gap, or undefined for a client
   * that does not resume.
   */
  #resume(subscription: Subscription, since: Since | undefined): "resumed" | Gap | undefined {
    const { topic, join } = subscription;
    if (since === undefined || topic === undefined || !this.#isExtended()) return undefined;
    if (since.epoch !== this.#parts.epoch) return { since: since.seq, reason: "restarted" };
    const missed = topic.after(since.seq);
    if (missed === undefined) return { since: since.seq, reason: "expired" };
    this.#outbox.send(joined(join, since.seq, true), { stream: join.stream, group: join.group, type: "joined" });
    this.#startLive(subscription, missed);
    return "resumed";
  }

  async #read(
    subscription: Subscription,
    gap: Gap | undefined,
    { isJoin }: { readonly isJoin: boolean },
  ): Promise<void> {
    for (let reads = 0; reads < MAX_READS; reads++) {
      if (!(await this.#outbox.room())) return;
      const { topic, join, source } = subscription;
      if (subscription.hasEnded || topic === undefined) return;
      if (source === undefined) {
        this.#readSystem(subscription, gap, { isJoin });
        return;
      }
      const from = topic.seq;
      let snapshot: StreamSnapshot;
      try {
        snapshot = await withTimeout(this.#parts.clock, READ_DEADLINE_MS, `reading ${join.stream}`, () =>
          source.snapshot(join.stream, join.group, join.id),
        );
      } catch (error) {
        if (!subscription.hasEnded) this.#readFailed(subscription, gap, CallError.from(error));
        return;
      }
      // Wait for the end of this turn, because writes that complete together with the read are published until then.
      await new Promise((resolve) => setImmediate(resolve));
      if (subscription.hasEnded) return;
      if (topic.skippedTo > from) {
        // During the read, a write failed that may be stored nevertheless. So it is unknown whether the snapshot
        // contains it. The group is read again later, and not at once, because this might never end while the store
        // keeps failing.
        this.#sync(subscription, snapshot, { seq: from, gap, isJoin });
        this.#parts.resyncLater(subscription, from);
        return;
      }
      const since = topic.after(from);
      if (since === undefined) continue;
      const { count, isMixed } = snapshotOverlap(since, snapshot);
      // If this was the last allowed read, the events are sent nevertheless. Then an item may have an older value for a
      // moment.
      if (isMixed && reads < MAX_READS - 1) continue;
      this.#sync(subscription, snapshot, { seq: from + count, gap, isJoin });
      this.#startLive(
        subscription,
        this.#isExtended() ? since.slice(count) : eventsAfterPlainSync(topic, { since, seq: from + count, gap }),
      );
      return;
    }
    this.#failed(
      subscription,
      new CallError("overloaded", "the group changes faster than it can be read; join again later"),
    );
  }

  /**
   * Handles a failed read. If it was a resync after an unclear write and the failure is temporary, tries again later,
   * because a live subscription must not end for this reason. Otherwise the subscription fails.
   */
  #readFailed(subscription: Subscription, gap: Gap | undefined, error: CallError): void {
    if (gap?.reason === "unclear" && isTransient(error)) this.#parts.resyncLater(subscription, gap.since);
    else this.#failed(subscription, error);
  }

  #readSystem(subscription: Subscription, gap: Gap | undefined, { isJoin }: { readonly isJoin: boolean }): void {
    const { topic, join } = subscription;
    const spec = this.#parts.system.find(join.stream);
    if (topic === undefined || spec === undefined) return;
    let json: string;
    try {
      json = spec.snapshot(join.id, undefined);
    } catch (error) {
      this.#failed(subscription, CallError.from(error));
      return;
    }
    this.#sync(subscription, { json }, { seq: topic.seq, gap, isJoin });
    this.#startLive(subscription, []);
  }

  #sync(
    subscription: Subscription,
    { json, itemIds }: Pick<StreamSnapshot, "json" | "itemIds">,
    about: { readonly seq: number; readonly gap: Gap | undefined; readonly isJoin: boolean },
  ): void {
    const { join } = subscription;
    const { seq, gap, isJoin } = about;
    const { stream, group } = join;
    const now = this.#parts.clock.now();
    if (!this.#isExtended()) {
      this.#outbox.sendSnapshot(sync(subscription, json, now, undefined), { stream, group, type: "sync" });
      return;
    }
    if (isJoin) this.#outbox.send(joined(join, seq, false), { stream, group, type: "joined" });
    if (gap !== undefined) this.#outbox.send(gapNotice(join, gap, seq), { stream, group, type: "gap" });
    this.#outbox.sendSnapshot(sync(subscription, json, now, { seq, itemIds: itemIds?.() }), {
      stream,
      group,
      type: "sync",
    });
  }

  #startLive(subscription: Subscription, missed: readonly NumberedEvent[]): void {
    if (subscription.hasEnded) return;
    subscription.state = "live";
    for (const event of missed) {
      if (!subscription.matches(event)) continue;
      subscription.receiver.deliver(new OutgoingEvent(event), [subscription]);
      // The client may be too slow for this event. Then the subscription is no longer live and gets a snapshot later.
      if ((subscription.state as string) !== "live") return;
    }
  }

  #later(subscription: Subscription, run: () => Promise<void>): void {
    // Each open subscription is in the queue at most once. Remove subscriptions that have ended, so that a client that
    // joins and leaves repeatedly without reading cannot make the queue grow.
    if (this.#queue.length >= 2 * MAX_SUBSCRIPTIONS)
      this.#queue = this.#queue.filter((task) => !task.subscription.hasEnded);
    this.#queue.push({ subscription, run });
    if (this.#busy) return;
    this.#busy = true;
    this.#work().catch((error: unknown) =>
      this.#parts.log.error("a stream subscription could not be opened", { error }),
    );
  }

  async #work(): Promise<void> {
    try {
      for (let task = this.#queue.shift(); task !== undefined; task = this.#queue.shift()) await task.run();
    } finally {
      this.#busy = false;
    }
  }
}

/**
 * Returns the events to send to a plain client after its snapshot. These are the events after `seq`, and all events
 * without an item, because no snapshot contains them. So the client may get such an event twice. After an unclear
 * write, the events since that write are included.
 */
function eventsAfterPlainSync(
  topic: Topic,
  { since, seq, gap }: { since: readonly NumberedEvent[]; seq: number; gap: Gap | undefined },
): readonly NumberedEvent[] {
  const events = gap?.reason === "unclear" ? (topic.after(topic.skippedTo) ?? since) : since;
  return events.filter((event) => event.seq > seq || event.type === "event");
}

function isSystem({ join }: Subscription): boolean {
  return join.stream.startsWith(SYSTEM_PREFIX);
}
