import { CallError } from "@svc/protocol";
import type { StreamSnapshot } from "../stream-contract.ts";
import { heldEvents } from "./held-events.ts";
import { type NumberedEvent, OutgoingEvent } from "./numbered-event.ts";
import type { Outbox } from "./outbox.ts";
import { mayPass } from "./resyncs.ts";
import { type Gap, gapNotice, joined, sync } from "./server-messages.ts";
import { MAX_SUBSCRIPTIONS, READ_DEADLINE_MS } from "./stream-codes.ts";
import type { StreamParts } from "./stream-parts.ts";
import { SYSTEM_PREFIX } from "./stream-path.ts";
import type { Subscription } from "./subscription.ts";
import type { Topic } from "./topic.ts";
import { within } from "./within.ts";

/** A group that changes so fast that its events are gone before it is read, or cannot be told from what was read, is read so many times at most. */
const MAX_READS = 5;

/** From where a client that was here before wants to go on. */
export interface Since {
  readonly epoch: string;
  readonly seq: number;
}

export interface OpenerParts {
  readonly parts: StreamParts;
  readonly outbox: Outbox;
  readonly isExtended: () => boolean;
  /** The subscription cannot go on. */
  readonly failed: (subscription: Subscription, error: CallError) => void;
}

/**
 * Brings one connection's subscriptions up to date: with a snapshot, or with the events that were missed, and from there without a hole. One after
 * another, so that never more than one snapshot is on its way.
 */
export class Opener {
  readonly #parts: StreamParts;
  readonly #outbox: Outbox;
  readonly #isExtended: () => boolean;
  readonly #failed: OpenerParts["failed"];
  #queue: { readonly subscription: Subscription; readonly run: () => Promise<void> }[] = [];
  #busy = false;

  constructor({ parts, outbox, isExtended, failed }: OpenerParts) {
    this.#parts = parts;
    this.#outbox = outbox;
    this.#isExtended = isExtended;
    this.#failed = failed;
  }

  /** A subscription has been joined. */
  open(subscription: Subscription, since: Since | undefined): void {
    if (!this.#busy && this.#outbox.hasRoom && isSystem(subscription)) this.#openSystem(subscription, since);
    else this.#later(subscription, () => this.#start(subscription, since));
  }

  /** The client is to be sent what there is, after a gap. */
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

  /** Sends what was missed; else says what kind of gap there is, if the client was here before. */
  #resume(subscription: Subscription, since: Since | undefined): "resumed" | Gap | undefined {
    const { topic, join } = subscription;
    if (since === undefined || topic === undefined || !this.#isExtended()) return undefined;
    if (since.epoch !== this.#parts.epoch) return { since: since.seq, reason: "restarted" };
    const missed = topic.after(since.seq);
    if (missed === undefined) return { since: since.seq, reason: "expired" };
    this.#outbox.send(joined(join, since.seq, true), { stream: join.stream, group: join.group, type: "joined" });
    this.#goLive(subscription, missed);
    return "resumed";
  }

  async #read(subscription: Subscription, gap: Gap | undefined, { isJoin }: { readonly isJoin: boolean }): Promise<void> {
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
        snapshot = await within(this.#parts.clock, READ_DEADLINE_MS, `reading ${join.stream}`, () => source.snapshot(join.stream, join.group, join.id));
      } catch (error) {
        if (!subscription.hasEnded) this.#readFailed(subscription, gap, CallError.from(error));
        return;
      }
      // Writes that were answered together with the read are published by the end of this turn.
      await new Promise((resolve) => setImmediate(resolve));
      if (subscription.hasEnded) return;
      if (topic.skippedTo > from) {
        // Whether it has what made the number move on, nobody can tell. Read again at once, it might never be done while a store fails on and on.
        this.#sync(subscription, snapshot, { seq: from, gap, isJoin });
        this.#parts.resyncLater(subscription, from);
        return;
      }
      const since = topic.after(from);
      if (since === undefined) continue;
      const { count, isMixed } = heldEvents(since, snapshot);
      // In the end better an item that goes back for a moment than none at all.
      if (isMixed && reads < MAX_READS - 1) continue;
      this.#sync(subscription, snapshot, { seq: from + count, gap, isJoin });
      this.#goLive(subscription, this.#isExtended() ? since.slice(count) : behindPlainSync(topic, { since, seq: from + count, gap }));
      return;
    }
    this.#failed(subscription, new CallError("overloaded", "the group changes faster than it can be read; join again later"));
  }

  /** Who was live before is told when the store answers again, and is not sent away because it does not just now. */
  #readFailed(subscription: Subscription, gap: Gap | undefined, error: CallError): void {
    if (gap?.reason === "unclear" && mayPass(error)) this.#parts.resyncLater(subscription, gap.since);
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
    this.#goLive(subscription, []);
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
    this.#outbox.sendSnapshot(sync(subscription, json, now, { seq, itemIds: itemIds?.() }), { stream, group, type: "sync" });
  }

  #goLive(subscription: Subscription, missed: readonly NumberedEvent[]): void {
    if (subscription.hasEnded) return;
    subscription.state = "live";
    for (const event of missed) {
      if (!subscription.matches(event)) continue;
      subscription.receiver.deliver(new OutgoingEvent(event), [subscription]);
      // It may have fallen behind meanwhile.
      if ((subscription.state as string) !== "live") return;
    }
  }

  #later(subscription: Subscription, run: () => Promise<void>): void {
    // Each that has not ended is in here once; a client that joins and leaves while it takes nothing must not make it grow.
    if (this.#queue.length >= 2 * MAX_SUBSCRIPTIONS) this.#queue = this.#queue.filter((task) => !task.subscription.hasEnded);
    this.#queue.push({ subscription, run });
    if (this.#busy) return;
    this.#busy = true;
    this.#work().catch((error: unknown) => this.#parts.log.error("a stream subscription could not be opened", { error }));
  }

  async #work(): Promise<void> {
    try {
      for (let task = this.#queue.shift(); task !== undefined; task = this.#queue.shift()) await task.run();
    } finally {
      this.#busy = false;
    }
  }
}

/** Without numbers there is no harm in what was sent before the end of the snapshot, and it is nowhere else; after an unclear write also what was sent while it waited. */
function behindPlainSync(topic: Topic, { since, seq, gap }: { since: readonly NumberedEvent[]; seq: number; gap: Gap | undefined }): readonly NumberedEvent[] {
  const events = gap?.reason === "unclear" ? (topic.after(topic.skippedTo) ?? since) : since;
  return events.filter((event) => event.seq > seq || event.type === "event");
}

function isSystem({ join }: Subscription): boolean {
  return join.stream.startsWith(SYSTEM_PREFIX);
}
