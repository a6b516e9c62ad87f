import type { StreamUpdate } from "@svc/sdk";
import type { RawData, WebSocket } from "ws";
import { clientMessageSchema, type LiveEvent, type ServerMessage } from "../contract/live.ts";
import type { EngineLink } from "./engine-link.ts";
import type { LiveTopics } from "./live-topics.ts";
import type { PolledTopics } from "./polled-topics.ts";

/** Messages of one tenth of a second go to the page in one frame, in milliseconds. */
const BATCH_MS = 100;
/** Of one socket. The engine lets a connection have 100, and all pages share the console's. */
const MAX_SUBSCRIPTIONS = 80;
/** Events that wait for one frame, and bytes that wait for the page: above either, events are left out, counted, and made up for by a sync. */
const MAX_WAITING_EVENTS = 5_000;
const MAX_WAITING_BYTES = 8 * 1024 * 1024;
/** Messages of the page that one tenth of a second may bring; who sends more is no page of ours. */
const MAX_MESSAGES = 1_000;
const MAX_MESSAGE_BYTES = 64 * 1024;
/** How often a page's browser is asked whether it is there, which it answers whatever the page does; one that is silent for longer is gone. */
const PING_MS = 20_000;
const SILENT_MS = 60_000;

export interface LiveSocketParts {
  readonly link: EngineLink;
  readonly topics: LiveTopics;
  /** Serve the joins while the engine refuses streams. */
  readonly polledTopics: PolledTopics;
  /** Of the console's run. */
  readonly instanceId: string;
}

interface Joined {
  readonly stream: string;
  readonly group: string;
  leave: () => void;
  /** Events left out since the last gap that the page was told of. */
  dropped: number;
}

/** One page's WebSocket: joins the engine's streams for it and passes on what they tell, bounded and batched. */
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
  readonly #silence: NodeJS.Timeout;
  readonly #ping: NodeJS.Timeout;

  constructor(socket: WebSocket, { link, topics, polledTopics, instanceId }: LiveSocketParts) {
    this.#socket = socket;
    this.#link = link;
    this.#topics = topics;
    this.#polledTopics = polledTopics;
    this.#isPolled = link.areStreamsRefused;
    this.#undo = link.onState((engine) => {
      this.#tell({ type: "engine", engine });
      this.#followLink();
    });
    this.#silence = setTimeout(() => socket.terminate(), SILENT_MS);
    this.#ping = setInterval(() => socket.ping(), PING_MS);
    socket.on("pong", () => this.#silence.refresh());
    socket.on("message", (data, isBinary) => this.#take(data, isBinary));
    socket.on("close", () => this.#end());
    socket.on("error", () => socket.terminate());
    this.#tell({ type: "hello", instance_id: instanceId, engine: link.state, server_time_ms: Date.now() });
    this.#flush();
  }

  #take(data: RawData, isBinary: boolean): void {
    this.#silence.refresh();
    this.#messages++;
    if (this.#messages > MAX_MESSAGES) {
      this.#socket.close(4008, "too many messages");
      return;
    }
    const text = data.toString();
    const message = isBinary || text.length > MAX_MESSAGE_BYTES ? undefined : clientMessageSchema.safeParse(parse(text));
    if (message === undefined || !message.success) {
      this.#tell({ type: "error", code: "invalid_message", message: "the message is none that this socket takes" });
      return;
    }
    const asked = message.data;
    if (asked.type === "ping") {
      this.#tell({ type: "pong", t: asked.t });
      // At once: it measures the way, not the batch.
      this.#flush();
    } else if (asked.type === "unsubscribe") this.#leave(asked.id);
    else this.#subscribe(asked.id, asked.stream, asked.group);
  }

  #subscribe(id: string, stream: string, group: string): void {
    this.#leave(id);
    if (this.#joined.size >= MAX_SUBSCRIPTIONS) {
      this.#tell({ type: "status", id, status: "refused", reason: `one page may join ${MAX_SUBSCRIPTIONS} groups` });
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
        sync: (data, ids) => isThere() && this.#tell({ type: "sync", id, data, ids, at_ms: Date.now() }),
        event: (update) => isThere() && this.#tellEvent(id, joined, update),
        gap: (reason) => isThere() && this.#tell({ type: "gap", id, reason }),
        status: (status, reason) => isThere() && this.#tell({ type: "status", id, status, reason }),
      });
    } catch (error) {
      this.#tell({ type: "status", id, status: "refused", reason: (error as Error).message });
    }
  }

  /** Joins everything again where the engine began or ceased to refuse streams. */
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

  #tellEvent(id: string, joined: Joined, update: StreamUpdate<unknown>): void {
    if (joined.dropped > 0 || this.#events >= MAX_WAITING_EVENTS || this.#socket.bufferedAmount > MAX_WAITING_BYTES) {
      joined.dropped++;
      this.#schedule();
      return;
    }
    this.#events++;
    this.#tell({ type: "event", id, event: eventOf(update) });
  }

  #tell(message: ServerMessage): void {
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
      // Not even what there is besides events gets through.
      this.#socket.close(4008, "the page does not read what it is sent");
      return;
    }
    this.#makeUp();
    if (this.#batch.length > 0) this.#socket.send(JSON.stringify(this.#batch));
    this.#batch = [];
    this.#events = 0;
  }

  /** Tells of events that were left out, once the page reads again: the count, and by joining anew all there is. */
  #makeUp(): void {
    const isBehind = this.#socket.bufferedAmount > MAX_WAITING_BYTES / 2;
    for (const [id, joined] of this.#joined) {
      if (joined.dropped === 0) continue;
      if (isBehind) {
        this.#schedule();
        return;
      }
      this.#batch.push({ type: "gap", id, reason: "overflow", dropped: joined.dropped });
      joined.dropped = 0;
      // First the new join, so that the group stays joined.
      const { leave } = joined;
      this.#join(id, joined);
      leave();
    }
  }

  #end(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
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
