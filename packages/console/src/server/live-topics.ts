import type { StreamClient, StreamSubscription, StreamUpdate } from "@svc-runtime/sdk";

/** Listener of one page for one group of a stream. */
export interface TopicListener {
  sync(data: unknown, ids: readonly string[] | null): void;
  event(update: StreamUpdate<unknown>): void;
  /** Events were lost; a sync follows. */
  gap(reason: string): void;
  status(status: "joining" | "live" | "refused", reason: string | null): void;
}

/** A page that listens to a topic. */
interface Member {
  readonly listener: TopicListener;
  /** Sequence number of the last event or sync that it received. Undefined while it waits for a sync. */
  seq: number | undefined;
}

/**
 * Joins groups of streams for the pages. Each group is joined once, however many pages watch it. A new page needs all
 * items, so the group is joined again for it, and the older join is left once the newer one has its sync.
 */
export class LiveTopics {
  readonly #streams: StreamClient;
  readonly #topics = new Map<string, Topic>();

  constructor(streams: StreamClient) {
    this.#streams = streams;
  }

  /** Number of groups joined now. */
  get size(): number {
    return this.#topics.size;
  }

  /** Joins a group until the returned function is called. Throws TypeError for invalid names. */
  join(stream: string, group: string, listener: TopicListener): () => void {
    const key = JSON.stringify([stream, group]);
    const topic = this.#topics.get(key) ?? new Topic(this.#streams, stream, group);
    const leave = topic.add(listener);
    this.#topics.set(key, topic);
    return () => {
      leave();
      if (topic.isEmpty && this.#topics.get(key) === topic) this.#topics.delete(key);
    };
  }
}

class Topic {
  readonly #streams: StreamClient;
  readonly #stream: string;
  readonly #group: string;
  readonly #members = new Set<Member>();
  /** The active join. */
  #current: StreamSubscription | undefined;
  /** A newer join that still waits for its sync. */
  #next: StreamSubscription | undefined;
  #status: readonly ["joining" | "live" | "refused", string | null] = ["joining", null];

  constructor(streams: StreamClient, stream: string, group: string) {
    this.#streams = streams;
    this.#stream = stream;
    this.#group = group;
  }

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  add(listener: TopicListener): () => void {
    const member: Member = { listener, seq: undefined };
    if (this.#current === undefined) this.#current = this.#join();
    else {
      // A join without a sync will get one anyway. Otherwise the newest page's join also serves pages that came just
      // before it.
      if (this.#current.seq !== undefined) {
        this.#next?.leave();
        this.#next = this.#join();
      }
      // The new page has no items yet.
      if (this.#status[0] === "live") listener.status("joining", null);
      else listener.status(...this.#status);
    }
    this.#members.add(member);
    return () => {
      this.#members.delete(member);
      if (this.#members.size > 0) return;
      this.#current?.leave();
      this.#next?.leave();
      this.#current = undefined;
      this.#next = undefined;
    };
  }

  #join(): StreamSubscription {
    let subscription: StreamSubscription | undefined;
    // Ignores messages of a subscription that was left.
    const isActive = (): boolean =>
      subscription !== undefined && (subscription === this.#current || subscription === this.#next);
    let isFirstSync = true;
    subscription = this.#streams.subscribe<unknown>(
      { streamName: this.#stream, groupId: this.#group },
      {
        onSync: (data, { seq, itemIds }) => {
          if (!isActive()) return;
          // The first sync of a newer join is for waiting pages. Any other follows a gap and is for all pages.
          const isForWaiting = isFirstSync && subscription === this.#next;
          isFirstSync = false;
          if (isForWaiting) this.#promote();
          for (const member of this.#members) {
            if (isForWaiting && member.seq !== undefined && member.seq >= seq) continue;
            member.seq = seq;
            member.listener.sync(data, itemIds ?? null);
          }
        },
        onEvent: (update) => {
          if (!isActive()) return;
          for (const member of this.#members) {
            if (member.seq === undefined || member.seq >= update.seq) continue;
            member.seq = update.seq;
            member.listener.event(update);
          }
        },
        onGap: ({ reason }) => {
          if (!isActive()) return;
          for (const member of this.#members) {
            if (member.seq === undefined) continue;
            // Sequence numbers may restart; only the sync has the new start.
            member.seq = undefined;
            member.listener.gap(reason);
          }
        },
        onStatus: (status) => {
          // For a rejection, `onError` follows with the reason.
          if (status !== "closed" && status !== "refused" && isActive())
            this.#notify(status, null, subscription === this.#next);
        },
        onError: (error) => {
          if (isActive()) this.#notify("refused", error.message, subscription === this.#next);
        },
      },
    );
    return subscription;
  }

  /** Replaces the older join with the newer one, which is up to date. */
  #promote(): void {
    this.#current?.leave();
    this.#current = this.#next;
    this.#next = undefined;
  }

  #notify(status: "joining" | "live" | "refused", reason: string | null, isForWaiting: boolean): void {
    if (!isForWaiting) this.#status = [status, reason];
    for (const { listener, seq } of this.#members)
      if (!isForWaiting || seq === undefined) listener.status(status, reason);
  }
}
