import { randomUUID } from "node:crypto";
import {
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  type StreamConfig,
  type StreamInfo,
} from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import {
  type Follow,
  type Log,
  LogChanged,
  type LogEntry,
  type LogState,
  type LogTruncated,
  LogUnavailable,
  MAX_ENTRY_BYTES,
} from "../../store/log.ts";
import { isUnheard, NatsProblem } from "./connect.ts";
import { ensureStream, type StreamParts } from "./ensure-stream.ts";
import { EntryReader } from "./entry-reader.ts";
import { codeOf, codes, isWrongSequence, unavailable } from "./jetstream-errors.ts";
import { LogEnd } from "./log-end.ts";
import { logStreamName } from "./stream-names.ts";

/** Timeout of one request to the servers, in milliseconds. */
const REQUEST_MS = 3_000;
/**
 * How long the servers remember the ids of entries, in milliseconds. An append must not be tried again for a longer
 * time.
 */
const DUPLICATE_WINDOW_MS = 120_000;
/** Pause before an append that failed temporarily is repeated, in milliseconds. */
const PASSING_MS = 50;
const IDENTITY = "svc_identity";
const MESSAGE_ID = "Nats-Msg-Id";

interface Opened {
  readonly identity: string;
  readonly copies: number;
}

export type NatsLogParts = StreamParts;

/**
 * A log in a stream of JetStream. The servers publish each stored entry (`republish`), so live entries arrive over core
 * NATS. Entries that were missed are read by their position.
 */
export class NatsLog implements Log {
  readonly #parts: NatsLogParts;
  readonly #clock: Clock;
  readonly #publisher: JetStreamClient;
  readonly #manager: JetStreamManager;
  readonly #stream: string;
  readonly #identity: string;
  /** Number of servers that keep a copy of the log. */
  #copies: number;
  readonly #end: LogEnd;
  readonly #readers = new Set<EntryReader>();

  private constructor(parts: NatsLogParts, manager: JetStreamManager, { identity, copies }: Opened) {
    this.#parts = parts;
    this.#clock = parts.clock ?? systemClock;
    this.#end = new LogEnd(this.#clock);
    this.#publisher = jetstream(parts.client.nats, { timeout: REQUEST_MS });
    this.#manager = manager;
    this.#stream = logStreamName(parts.cluster, parts.store);
    this.#identity = identity;
    this.#copies = copies;
  }

  /** Opens the log. Creates it if it is missing. Rejects with NatsProblem. */
  static async open(parts: NatsLogParts): Promise<NatsLog> {
    const { nats } = parts.client;
    const manager = await jetstreamManager(nats, { timeout: REQUEST_MS, checkAPI: false });
    const name = logStreamName(parts.cluster, parts.store);
    const info = await ensureStream(name, parts, () => logConfig(parts));
    const identity = info.config.metadata?.[IDENTITY];
    if (identity === undefined)
      throw new NatsProblem(
        `the NATS servers have a stream ${info.config.name} that is not of svc: give the cluster another name (engine.cluster.name), or remove the stream`,
      );
    return new NatsLog(parts, manager, { identity, copies: info.config.num_replicas });
  }

  /** Returns whether the log has or had entries. Does not create it. */
  static async hasEntries({ client, cluster, store }: NatsLogParts): Promise<boolean> {
    const manager = await jetstreamManager(client.nats, { timeout: REQUEST_MS, checkAPI: false });
    try {
      return (await manager.streams.info(logStreamName(cluster, store))).state.last_seq > 0;
    } catch (error) {
      if (codeOf(error) === codes.streamNotFound) return false;
      throw unavailable(error);
    }
  }

  /** Number of servers that keep a copy of the log, as last reported by the servers. */
  get copies(): number {
    return this.#copies;
  }

  append(id: string, bytes: Uint8Array): Promise<number> {
    return this.#append(id, bytes, {});
  }

  /** Appends the first entry. Rejects with LogChanged if the log has or had an entry. */
  async appendFirst(id: string, bytes: Uint8Array): Promise<void> {
    await this.#append(id, bytes, { lastSequence: 0 });
  }

  async #append(id: string, bytes: Uint8Array, expected: { readonly lastSequence?: number }): Promise<number> {
    if (bytes.length > MAX_ENTRY_BYTES) throw new Error(`an entry has ${bytes.length} bytes, more than the log takes`);
    const endsAt = this.#clock.monotonic() + REQUEST_MS;
    for (;;) {
      // Without a server, the client would keep the message in memory without a limit.
      if (!this.#parts.client.isUp()) throw new LogUnavailable("there is no connection to a NATS server");
      try {
        const options = { msgID: id, timeout: REQUEST_MS, expect: { streamName: this.#stream, ...expected } };
        const { seq } = await this.#publisher.publish(this.#subject("log"), bytes, options);
        this.#end.sawNow(seq);
        for (const reader of this.#readers) reader.expect(seq);
        return seq;
      } catch (error) {
        if (isWrongSequence(error)) throw new LogChanged("the log has entries already", { cause: error });
        if (!isPassing(error) || this.#clock.monotonic() >= endsAt) throw unavailable(error);
        await this.#pause(PASSING_MS);
      }
    }
  }

  follow(
    from: number,
    onEntry: (entry: LogEntry) => void,
    onFailed: (error: LogTruncated | LogChanged) => void,
  ): Follow {
    const { client } = this.#parts;
    this.#end.sawEarlier(from - 1);
    const reader = new EntryReader({
      from,
      clock: this.#clock,
      state: () => this.state(),
      read: (position) => this.read(position),
      onEntry: (entry) => {
        this.#end.sawNow(entry.position);
        onEntry(entry);
      },
      onFailed: (error) => {
        stop();
        onFailed(error);
      },
    });
    const subscription = client.nats.subscribe(this.#subject("entry"), {
      callback: (error, { data, headers }) => {
        const position = Number(headers?.get("Nats-Sequence"));
        if (error !== null || !(position > 0)) return;
        this.#end.sawNow(position);
        reader.live({ position, id: headers?.get(MESSAGE_ID) ?? "", bytes: data });
      },
    });
    const stopListening = client.onUp(() => reader.lookAgain());
    this.#readers.add(reader);
    const stop = (): void => {
      reader.stop();
      subscription.unsubscribe();
      stopListening();
      this.#readers.delete(reader);
    };
    reader.start();
    return { stop };
  }

  async read(position: number): Promise<LogEntry | undefined> {
    if (position < 1) return undefined;
    try {
      const found = await this.#manager.streams.getMessage(this.#stream, { seq: position });
      if (found === null || found.subject !== this.#subject("log")) return undefined;
      return { position, id: found.header.get(MESSAGE_ID), bytes: found.data };
    } catch (error) {
      if (codeOf(error) === codes.noMessage) return undefined;
      throw unavailable(error);
    }
  }

  async state(): Promise<LogState> {
    let info: StreamInfo;
    try {
      info = await this.#manager.streams.info(this.#stream);
    } catch (error) {
      if (codeOf(error) !== codes.streamNotFound) throw unavailable(error);
      return { identity: "none: its stream was deleted", first: 1, last: 0, bytes: 0 };
    }
    const { first_seq: first, last_seq: last, bytes } = info.state;
    const identity = info.config.metadata?.[IDENTITY] ?? "none";
    if (identity === this.#identity) {
      this.#copies = info.config.num_replicas;
      this.#end.check(last);
    }
    return { identity, first: Math.max(1, first), last, bytes };
  }

  async truncate(before: number): Promise<void> {
    const { identity } = await this.state();
    if (identity !== this.#identity) throw new LogChanged("the log is another one than before");
    try {
      await this.#manager.streams.purge(this.#stream, { seq: before });
    } catch (error) {
      throw unavailable(error);
    }
  }

  /**
   * Returns a subject that contains the identity of the log, so that nothing is appended to a stream that replaced this
   * one.
   */
  #subject(kind: "log" | "entry"): string {
    const { cluster, store } = this.#parts;
    return subjectOf(cluster, kind, store, this.#identity);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve));
  }
}

function subjectOf(cluster: string, kind: "log" | "entry", store: string, identity: string): string {
  return `svc.${cluster}.${kind}.${store}.${identity}`;
}

/**
 * True if the next attempt may succeed: an earlier attempt is still storing the entry, or a server does not know a new
 * stream yet.
 */
function isPassing(error: unknown): boolean {
  return codeOf(error) === codes.duplicateUnderWay || isUnheard(error);
}

/** Returns the config of the stream. Entries cannot be changed. Entries that a snapshot contains can be purged. */
function logConfig({ cluster, store }: NatsLogParts): Partial<StreamConfig> {
  const identity = randomUUID();
  const subject = subjectOf(cluster, "log", store, identity);
  return {
    subjects: [subject],
    republish: { src: subject, dest: subjectOf(cluster, "entry", store, identity) },
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    deny_delete: true,
    metadata: { [IDENTITY]: identity },
  };
}
