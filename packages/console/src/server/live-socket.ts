import type { StreamUpdate } from "@svc-runtime/sdk";
import type { RawData, WebSocket } from "ws";
import { clientMessageSchema, type LiveEvent, type ServerMessage } from "../contract/live.ts";
import type { EngineLink } from "./engine-link.ts";
import type { LiveTopics } from "./live-topics.ts";
import type { PolledTopics } from "./polled-topics.ts";

/** Interval of frames, in milliseconds. All messages of this time are sent in one frame. */
const BATCH_MS = 100;
/**
 * Maximum number of subscriptions per socket. It is below 100, because all pages share the console's connection to the
 * engine, and the engine allows 100 subscriptions per connection.
 */
const MAX_SUBSCRIPTIONS = 80;
/**
 * Maximum number of events per frame. If it or `MAX_WAITING_BYTES` is exceeded, events are dropped and counted, and a
 * sync follows.
 */
const MAX_WAITING_EVENTS = 5_000;
const MAX_WAITING_BYTES = 8 * 1024 * 1024;
/** Maximum number of messages from the page per batch interval. The console's own page sends far fewer. */
const MAX_MESSAGES = 1_000;
const MAX_MESSAGE_BYTES = 64 * 1024;
/** Interval of pings, in milliseconds. Browsers respond to them even if the page is busy. */
const PING_MS = 20_000;
/** Time after which a page that sends nothing counts as disconnected, in milliseconds. */
const IDLE_TIMEOUT_MS = 60_000;

export interface LiveSocketParts {
  readonly link: EngineLink;
  readonly topics: LiveTopics;
  /** Provides lists while the engine rejects streams. */
  readonly polledTopics: PolledTopics;
  /** Id of the console's current run. */
  readonly instanceId: string;
}

interface Joined {
  readonly stream: string;
  readonly group: string;
  leave: () => void;
  /** Number of events that were dropped since the last gap message. */
  dropped: number;
}

/**
 * The WebSocket of one page. It subscribes to the engine's streams and sends their events to the page, in batches and
 * within limits.
 */
export class LiveSocket {
  readonly #socket: WebSocket;
  readonly #link: EngineLink;
  readonly #topics: LiveTopics;
  readonly #polledTopics: PolledTopics;
  #isPolled: boolean;
  readonly #joined = new Map<string, Joined>();
  readonly #undo: () => void;
  #batch: ServerMessage[] = [];
  #events = 0;
  #messages = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #idleTimeout: NodeJS.Timeout;
  readonly #ping: NodeJS.Timeout;

  constructor(socket: WebSocket, { link, topics, polledTopics, instanceId }: LiveSocketParts) {
    this.#socket = socket;
    this.#link = link;
    this.#topics = topics;
    this.#polledTopics = polledTopics;
    this.#isPolled = link.areStreamsRefused;
    this.#undo = link.onState((engine) => {
      this.#send({ type: "engine", engine });
      this.#followLink();
    });
    this.#idleTimeout = setTimeout(() => socket.terminate(), IDLE_TIMEOUT_MS);
    this.#ping = setInterval(() => socket.ping(), PING_MS);
    socket.on("pong", () => this.#idleTimeout.refresh());
    socket.on("message", (data, isBinary) => this.#receive(data, isBinary));
    socket.on("close", () => this.#end());
    socket.on("error", () => socket.terminate());
    this.#send({ type: "hello", instance_id: instanceId, engine: link.state, server_time_ms: Date.now() });
    this.#flush();
  }

  #receive(data: RawData, isBinary: boolean): void {
    this.#idleTimeout.refresh();
    this.#messages++;
    if (this.#messages > MAX_MESSAGES) {
      this.#socket.close(4008, "too many messages");
      return;
    }
    const text = data.toString();
    const message =
      isBinary || text.length > MAX_MESSAGE_BYTES ? undefined : clientMessageSchema.safeParse(parse(text));
    if (message === undefined || !message.success) {
      this.#send({ type: "error", code: "invalid_message", message: "the message is not valid on this socket" });
      return;
    }
    const asked = message.data;
    if (asked.type === "ping") {
      this.#send({ type: "pong", t: asked.t });
      // It is sent at once, because the page measures the latency with it.
      this.#flush();
    } else if (asked.type === "unsubscribe") this.#leave(asked.id);
    else this.#subscribe(asked.id, asked.stream, asked.group);
  }

  #subscribe(id: string, stream: string, group: string): void {
    this.#leave(id);
    if (this.#joined.size >= MAX_SUBSCRIPTIONS) {
      this.#send({
        type: "status",
        id,
        status: "refused",
        reason: `a page can join at most ${MAX_SUBSCRIPTIONS} groups`,
      });
      return;
    }
    const joined: Joined = { stream, group, leave: () => {}, dropped: 0 };
    this.#joined.set(id, joined);
    this.#join(id, joined);
  }

  #join(id: string, joined: Joined): void {
    const isThere = (): boolean => this.#joined.get(id) === joined;
    try {
      const topics = this.#isPolled ? this.#polledTopics : this.#topics;
      joined.leave = topics.join(joined.stream, joined.group, {
        sync: (data, ids) => isThere() && this.#send({ type: "sync", id, data, ids, at_ms: Date.now() }),
        event: (update) => isThere() && this.#sendEvent(id, joined, update),
        gap: (reason) => isThere() && this.#send({ type: "gap", id, reason }),
        status: (status, reason) => isThere() && this.#send({ type: "status", id, status, reason }),
      });
    } catch (error) {
      this.#send({ type: "status", id, status: "refused", reason: (error as Error).message });
    }
  }

  /** Joins all groups again when the engine begins or ceases to reject streams. */
  #followLink(): void {
    if (this.#isPolled === this.#link.areStreamsRefused) return;
    this.#isPolled = !this.#isPolled;
    for (const [id, joined] of this.#joined) {
      joined.leave();
      joined.leave = () => {};
      this.#join(id, joined);
    }
  }

  #leave(id: string): void {
    const joined = this.#joined.get(id);
    this.#joined.delete(id);
    joined?.leave();
  }

  #sendEvent(id: string, joined: Joined, update: StreamUpdate<unknown>): void {
    if (joined.dropped > 0 || this.#events >= MAX_WAITING_EVENTS || this.#socket.bufferedAmount > MAX_WAITING_BYTES) {
      joined.dropped++;
      this.#schedule();
      return;
    }
    this.#events++;
    this.#send({ type: "event", id, event: eventOf(update) });
  }

  #send(message: ServerMessage): void {
    this.#batch.push(message);
    this.#schedule();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.#flush(), BATCH_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#messages = 0;
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > 2 * MAX_WAITING_BYTES) {
      // The page does not read at all: even messages that are not events are waiting.
      this.#socket.close(4008, "the page does not read its messages");
      return;
    }
    this.#resync();
    if (this.#batch.length > 0) this.#socket.send(JSON.stringify(this.#batch));
    this.#batch = [];
    this.#events = 0;
  }

  /**
   * When the page reads again, reports the number of dropped events. Then joins the group again, so that the page gets
   * a sync.
   */
  #resync(): void {
    const isBehind = this.#socket.bufferedAmount > MAX_WAITING_BYTES / 2;
    for (const [id, joined] of this.#joined) {
      if (joined.dropped === 0) continue;
      if (isBehind) {
        this.#schedule();
        return;
      }
      this.#batch.push({ type: "gap", id, reason: "overflow", dropped: joined.dropped });
      joined.dropped = 0;
      // The new join comes before the leave, so that the group stays joined.
      const { leave } = joined;
      this.#join(id, joined);
      leave();
    }
  }

  #end(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#idleTimeout);
    clearInterval(this.#ping);
    this.#undo();
    for (const id of [...this.#joined.keys()]) this.#leave(id);
  }
}

function eventOf(update: StreamUpdate<unknown>): LiveEvent {
  return update.type === "event"
    ? { type: "event", id: update.id, data: update.event, timestamp: update.timestamp }
    : { type: update.type, id: update.id, data: update.data, timestamp: update.timestamp };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
