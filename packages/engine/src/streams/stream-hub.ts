import { CallError } from "@svc-runtime/protocol";
import { type Clock, every } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import type {
  StreamPublisher,
  StreamSource,
  Streams,
  StreamView,
  SystemStream,
  SystemStreamSpec,
} from "../kernel/stream-contract.ts";
import { CLOSE } from "./close-codes.ts";
import { HEARTBEAT_MS } from "./limits.ts";
import type { RealtimeSocket } from "./outbox.ts";
import { Resyncs } from "./resyncs.ts";
import { StreamConnection } from "./stream-connection.ts";
import type { StreamParts } from "./stream-parts.ts";
import { readStreamPath, SYSTEM_GROUP, SYSTEM_PREFIX } from "./stream-path.ts";
import { SystemStreams } from "./system-streams.ts";
import { Tap, tapSpec } from "./tap.ts";
import type { Subscription } from "./topic.ts";
import { Topics } from "./topics.ts";
import { UserStreamNames } from "./user-stream-names.ts";

/**
 * Time after the stop of the provider of user-defined streams in which it is expected to come back, in milliseconds.
 */
const AWAY_MS = 10_000;

export interface StreamHubParts {
  readonly clock: Clock;
  readonly log: Logger;
  /** Identifies this run of the engine. */
  readonly epoch: string;
  /** Called when a user-defined stream was created or removed. */
  readonly onChange: (stream: string, op: "created" | "removed") => void;
}

/**
 * Connects streams with their subscribers: numbers events, buffers the latest events, and serves the clients of the
 * real-time listener.
 */
export class StreamHub implements Streams {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #topics = new Topics();
  readonly #system: SystemStreams;
  readonly #names: UserStreamNames;
  readonly #resyncs: Resyncs;
  readonly #parts: StreamParts;
  readonly #connections = new Set<StreamConnection>();
  #source: StreamSource | undefined;
  #sourceStoppedAt = Number.NEGATIVE_INFINITY;
  /** True if the source that stopped last had an authentication. */
  #hadAuthentication = false;
  #stopHeartbeat: (() => void) | undefined;

  constructor({ clock, log, epoch, onChange }: StreamHubParts) {
    this.#clock = clock;
    this.#log = log;
    const tap = new Tap(clock);
    this.#system = new SystemStreams({
      topics: this.#topics,
      clock,
      onStopped: (name) => this.#systemStreamStopped(name),
    });
    this.#names = new UserStreamNames({ clock, log, onChange });
    this.#resyncs = new Resyncs({
      clock,
      log,
      reopen: (subscription, since) => connectionOf(subscription).resync(subscription, since),
    });
    this.#parts = {
      clock,
      log,
      epoch,
      system: this.#system,
      source: () => this.#source,
      sourceIsAway: () => this.#sourceIsAway,
      tap,
      subscribe: (subscription) => this.#subscribe(subscription),
      resyncLater: (subscription, since) => this.#resyncs.add(subscription, since),
      end: (subscription) => this.#end(subscription),
    };
    tap.publishTo(this.#system.provide(tapSpec(tap)));
  }

  /**
   * Number of user-defined streams that `list` shows. A stream is shown in three cases: it had items at the last count;
   * functions store its items, and it had an event; it has subscribers.
   */
  get userStreams(): number {
    return this.#names.count;
  }

  /**
   * True if the provider of user-defined streams decides who may connect, or will decide after its restart. Then the
   * engine's token is not needed.
   */
  get authenticates(): boolean {
    return this.#source === undefined
      ? this.#sourceIsAway && this.#hadAuthentication
      : this.#source.authenticate !== undefined;
  }

  /** Returns true for the paths of streams. */
  serves(path: string): boolean {
    return readStreamPath(path) !== undefined;
  }

  /** Accepts a client's connection. */
  accept(socket: RealtimeSocket): void {
    // While the source restarts it cannot authenticate, so untrusted clients are refused.
    if (this.#source === undefined && this.authenticates && !socket.client.trusted) {
      socket.close(CLOSE.restart, "the provider of the streams is restarting; reconnect");
      return;
    }
    const connection = new StreamConnection(this.#parts, socket, (ended) => this.#connections.delete(ended));
    this.#connections.add(connection);
    this.#stopHeartbeat ??= every(this.#clock, HEARTBEAT_MS, () => this.#beat());
    connection.start(readStreamPath(socket.client.path) ?? { join: undefined });
  }

  provideSystemStream(spec: SystemStreamSpec): SystemStream {
    return this.#system.provide(spec);
  }

  serveUserStreams(source: StreamSource): StreamPublisher {
    if (this.#source !== undefined) throw new TypeError("another module already provides the user-defined streams");
    this.#source = source;
    this.#names.follow(source);
    // Close the existing connections, because this source has not authenticated them.
    if (source.authenticate !== undefined)
      for (const connection of [...this.#connections]) if (!connection.isTrusted) connection.restart();
    return {
      publish: (event) => {
        if (this.#source !== source) return 0;
        refuseSystem(event.stream);
        this.#names.published(event);
        return this.#topics.publish(event, this.#clock.now());
      },
      resync: (stream, group) => {
        if (this.#source !== source) return;
        refuseSystem(stream);
        this.#resyncs.begin(this.#topics.skip(stream, group));
      },
      stop: () => this.#sourceStopped(source),
    };
  }

  async list(): Promise<readonly StreamView[]> {
    const groups = this.#source === undefined ? [] : await this.#names.listed(this.#source);
    const views = new Map<string, Map<string, { items: number | null; subscribers: number }>>();
    const groupOf = (stream: string, group: string): { items: number | null; subscribers: number } => {
      let own = views.get(stream);
      if (own === undefined) {
        own = new Map();
        views.set(stream, own);
      }
      let view = own.get(group);
      if (view === undefined) {
        view = { items: null, subscribers: 0 };
        own.set(group, view);
      }
      return view;
    };
    for (const { stream, group, items } of groups) groupOf(stream, group).items = items;
    for (const name of this.#names.functionBacked) if (!views.has(name)) views.set(name, new Map());
    for (const name of this.#system.names) groupOf(name, SYSTEM_GROUP);
    for (const topic of this.#topics.all())
      if (topic.subscribers > 0) groupOf(topic.stream, topic.group).subscribers = topic.subscribers;
    return [...views].sort(byName).map(([name, own]) => {
      const rows = [...own]
        .sort(byName)
        .map(([group_id, { items, subscribers }]) => ({ group_id, items, subscribers }));
      const subscribers = rows.reduce((sum, row) => sum + row.subscribers, 0);
      return { name, type: name.startsWith(SYSTEM_PREFIX) ? "system" : "user", groups: rows, subscribers };
    });
  }

  get #sourceIsAway(): boolean {
    return this.#source === undefined && this.#clock.monotonic() - this.#sourceStoppedAt < AWAY_MS;
  }

  #subscribe(subscription: Subscription): void {
    subscription.state = "opening";
    this.#topics.subscribe(subscription);
    const { stream } = subscription.join;
    if (subscription.source === undefined) this.#system.count(stream, 1);
    else this.#names.subscribed(stream, 1);
  }

  #end(subscription: Subscription): void {
    const { join, source, topic } = subscription;
    subscription.state = "ended";
    if (topic !== undefined) {
      this.#resyncs.forget(subscription);
      this.#topics.unsubscribe(subscription, { forget: source === undefined });
      if (source === undefined) this.#system.count(join.stream, -1);
      else this.#names.subscribed(join.stream, -1);
    }
    if (source === undefined || !subscription.admitted) return;
    subscription.admitted = false;
    try {
      source.left(join);
    } catch (error) {
      this.#log.error("the end of a subscription could not be reported", {
        stream: join.stream,
        group: join.group,
        error,
      });
    }
  }

  #sourceStopped(source: StreamSource): void {
    if (this.#source !== source) return;
    this.#source = undefined;
    this.#sourceStoppedAt = this.#clock.monotonic();
    this.#hadAuthentication = source.authenticate !== undefined;
    for (const connection of [...this.#connections]) {
      if ((source.authenticate !== undefined && !connection.isTrusted) || connection.uses(source)) connection.restart();
    }
    // The next provider may have other items. So clients must not resume with sequence numbers of this provider.
    for (const topic of this.#topics.all()) if (!topic.stream.startsWith(SYSTEM_PREFIX)) this.#topics.forget(topic);
    this.#names.follow(undefined);
  }

  #systemStreamStopped(name: string): void {
    for (const topic of this.#topics.groupsOf(name)) {
      for (const subscription of topic.subscriptions()) {
        connectionOf(subscription).drop(
          subscription,
          new CallError("NOT_FOUND", `the stream ${name} is no longer provided`),
        );
      }
    }
  }

  #beat(): void {
    if (this.#connections.size === 0) {
      this.#stopHeartbeat?.();
      this.#stopHeartbeat = undefined;
      return;
    }
    const now = this.#clock.now();
    for (const connection of this.#connections) if (connection.isExtended) connection.beat(now);
  }
}

function connectionOf({ receiver }: Subscription): StreamConnection {
  return receiver as StreamConnection;
}

function refuseSystem(stream: string): void {
  if (stream.startsWith(SYSTEM_PREFIX)) throw new TypeError(`${stream} is a stream of the engine itself`);
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
