import type { StreamClient, StreamSubscription, StreamUpdate } from "@svc/sdk";

/** What one page is told of one group of a stream. */
export interface TopicListener {
  sync(data: unknown, ids: readonly string[] | null): void;
  event(update: StreamUpdate<unknown>): void;
  /** Events were missed; a sync follows. */
  gap(reason: string): void;
  status(status: "joining" | "live" | "refused", reason: string | null): void;
}

/** A page within a topic. */
interface Member {
  readonly listener: TopicListener;
  /** The last event that it was told, or up to which its sync holds; undefined: it waits for a sync. */
  seq: number | undefined;
}

/**
 * Joins groups of streams for the pages, each group once however many pages (tabs) watch it. A page that comes to a group that is watched already
 * needs to be told all there is: the group is joined anew for that, and the older of the two joins is left as soon as the newer one is up to date.
 */
export class LiveTopics {
  readonly #streams: StreamClient;
  readonly #topics = new Map<string, Topic>();

  constructor(streams: StreamClient) {
    this.#streams = streams;
  }

  /** Groups joined at present. */
  get size(): number {
    return this.#topics.size;
  }

  /** Joins until the returned function is called. Throws TypeError for names that no stream can have. */
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
  /** The join that serves. */
  #current: StreamSubscription | undefined;
  /** A newer one, until it is up to date. */
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
      // One that has had no sync yet will have one anyway; else the newest comer's join serves those who came just before it too.
      if (this.#current.seq !== undefined) {
        this.#next?.leave();
        this.#next = this.#join();
      }
      // To this one all there is has yet to be told.
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
    // What a subscription that was left still tells is nobody's any more.
    const isOurs = (): boolean => subscription !== undefined && (subscription === this.#current || subscription === this.#next);
    let isFirstSync = true;
    subscription = this.#streams.subscribe<unknown>(
      { streamName: this.#stream, groupId: this.#group },
      {
        onSync: (data, { seq, itemIds }) => {
          if (!isOurs()) return;
          // The first one of a newer join is for those who wait; any other makes up for a gap, and is for all.
          const isForNewcomers = isFirstSync && subscription === this.#next;
          isFirstSync = false;
          if (isForNewcomers) this.#promote();
          for (const member of this.#members) {
            if (isForNewcomers && member.seq !== undefined && member.seq >= seq) continue;
            member.seq = seq;
            member.listener.sync(data, itemIds ?? null);
          }
        },
        onEvent: (update) => {
          if (!isOurs()) return;
          for (const member of this.#members) {
            if (member.seq === undefined || member.seq >= update.seq) continue;
            member.seq = update.seq;
            member.listener.event(update);
          }
        },
        onGap: ({ reason }) => {
          if (!isOurs()) return;
          for (const member of this.#members) {
            if (member.seq === undefined) continue;
            // Numbers may begin anew: only the sync says from where.
            member.seq = undefined;
            member.listener.gap(reason);
          }
        },
        onStatus: (status) => {
          // Of a refusal the reason follows.
          if (status !== "closed" && status !== "refused" && isOurs()) this.#tell(status, null, subscription === this.#next);
        },
        onError: (error) => {
          if (isOurs()) this.#tell("refused", error.message, subscription === this.#next);
        },
      },
    );
    return subscription;
  }

  /** The newer join has all there is: the older one has nothing to add. */
  #promote(): void {
    this.#current?.leave();
    this.#current = this.#next;
    this.#next = undefined;
  }

  #tell(status: "joining" | "live" | "refused", reason: string | null, isForNewcomers: boolean): void {
    if (!isForNewcomers) this.#status = [status, reason];
    for (const { listener, seq } of this.#members) if (!isForNewcomers || seq === undefined) listener.status(status, reason);
  }
}
