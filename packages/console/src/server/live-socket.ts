import type { StreamSubscription } from "@svc/sdk";
import type { RawData, WebSocket } from "ws";
import { clientMessageSchema, type ServerMessage } from "../contract/live.ts";
import type { EngineLink } from "./engine-link.ts";

/** Messages of one tenth of a second go to the page in one frame, in milliseconds. */
const BATCH_MS = 100;
/** Of one socket. */
const MAX_SUBSCRIPTIONS = 200;
/** What may wait for a page that does not read, in bytes; then its socket is closed and it comes again. */
const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;
const MAX_MESSAGE_BYTES = 64 * 1024;

/** One page's WebSocket: joins the engine's streams for it and passes on what they tell. */
export class LiveSocket {
  readonly #socket: WebSocket;
  readonly #link: EngineLink;
  readonly #subscriptions = new Map<string, StreamSubscription>();
  readonly #undo: () => void;
  #batch: ServerMessage[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: WebSocket, link: EngineLink, instanceId: string) {
    this.#socket = socket;
    this.#link = link;
    this.#undo = link.onState((engine) => this.#tell({ type: "engine", engine }));
    socket.on("message", (data, isBinary) => this.#take(data, isBinary));
    socket.on("close", () => this.#end());
    socket.on("error", () => socket.terminate());
    this.#tell({ type: "hello", instance_id: instanceId, engine: link.state, server_time_ms: Date.now() });
    this.#flush();
  }

  #take(data: RawData, isBinary: boolean): void {
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
    else this.#join(asked.id, asked.stream, asked.group);
  }

  #join(id: string, stream: string, group: string): void {
    this.#leave(id);
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS) {
      this.#tell({ type: "error", code: "too_many_subscriptions", message: `one page may join ${MAX_SUBSCRIPTIONS} groups` });
      return;
    }
    const subscription = this.#link.streams.subscribe<unknown>(
      { streamName: stream, groupId: group },
      {
        onSync: (data, facts) => this.#tell({ type: "sync", id, data, ids: facts.itemIds ?? null, at_ms: Date.now() }),
        onEvent: (update) =>
          this.#tell({
            type: "event",
            id,
            event:
              update.type === "event"
                ? { type: "event", id: update.id, data: update.event, timestamp: update.timestamp }
                : { type: update.type, id: update.id, data: update.data, timestamp: update.timestamp },
          }),
        onGap: (gap) => this.#tell({ type: "gap", id, reason: gap.reason }),
        onStatus: (status) => {
          if (status !== "closed") this.#tell({ type: "status", id, status, reason: null });
        },
        onError: (error) => this.#tell({ type: "status", id, status: "refused", reason: error.message }),
      },
    );
    this.#subscriptions.set(id, subscription);
  }

  #leave(id: string): void {
    this.#subscriptions.get(id)?.leave();
    this.#subscriptions.delete(id);
  }

  #tell(message: ServerMessage): void {
    this.#batch.push(message);
    this.#timer ??= setTimeout(() => this.#flush(), BATCH_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#batch.length === 0 || this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) {
      this.#socket.close(4008, "the page does not read what it is sent");
      return;
    }
    this.#socket.send(JSON.stringify(this.#batch));
    this.#batch = [];
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#undo();
    for (const id of [...this.#subscriptions.keys()]) this.#leave(id);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
