import type { StreamClient, StreamSubscription, StreamUpdate } from "@svc-runtime/sdk";

/** A page's listener for a group of a stream. */
export interface TopicListener {
  sync(data: unknown, ids: readonly string[] | null): void;
  event(update: StreamUpdate<unknown>): void;
  /** Called when events were lost. A sync follows. */
  gap(reason: string): void;
  status(status: "joining" | "live" | "refused", reason: string | null): void;
}

/** A page that listens to a topic. */
interface Member {
  readonly listener: TopicListener;
  /** Sequence number of the last event or sync that the page received. Undefined while the page waits for a sync. */
  seq: number | undefined;
}

/**
 * Joins groups of streams for all pages. Each group is joined once, even if several pages watch it. But a new page
 * needs all items, so the group is joined a second time for it. When the new join has received its sync, the old join
 * is left.
 */
export class LiveTopics {
  readonly #streams: StreamClient;
  readonly #topics = new Map<string, Topic>();

  constructor(streams: StreamClient) {
    this.#streams = streams;
  }

  /** Number of groups that are joined. */
  get size(): number {
    return this.#topics.size;
  }

  /** Joins a group, until the returned function is called. Throws TypeError for invalid names. */
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
  /** The join in use. */
  #current: StreamSubscription | undefined;
  /** A new join that waits for its sync. */
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
      // A join that has no sync yet will receive one, so no new join is needed. Otherwise a new join replaces one that
      // still waits, because it serves the pages that waited for that one too.
      if (this.#current.seq !== undefined) {
        this.#next?.leave();
        this.#next = this.#join();
      }
      // The new page has no items yet, so its status is not `live`.
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
    // Messages of a subscription that was left are ignored.
    const isActive = (): boolean =>
      subscription !== undefined && (subscription === this.#current || subscription === this.#next);
    let isFirstSync = true;
    subscription = this.#streams.subscribe<unknown>(
      { streamName: this.#stream, groupId: this.#group },
      {
        onSync: (data, { seq, itemIds }) => {
          if (!isActive()) return;
          // The first sync of a new join is for the waiting pages. Any other sync follows a gap, so it is for all
          // pages.
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
            // The sequence numbers may start again. The next sync has the new number.
            member.seq = undefined;
            member.listener.gap(reason);
          }
        },
        onStatus: (status) => {
          // After a rejection, `onError` is called with the reason.
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

  /** Replaces the old join by the new one, which has its sync. */
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
