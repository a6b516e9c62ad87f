import { type BackoffOptions, backoffMs } from "@svc/protocol/backoff";
import type { ClientMessage, EngineState, LiveEvent, ServerMessage } from "../../contract/live.ts";
import { LOGIN_REQUIRED } from "../../contract/login.ts";
import { endSession, pageToken, renewPageToken } from "./page-token.ts";

/** `offline`: the browser says so. `reconnecting`: the console's server cannot be reached. `engine-away`: it can, and the engine cannot. `live`: calls work; live updates do unless the engine refuses them. */
export type Phase = "connecting" | "live" | "reconnecting" | "engine-away" | "offline";

export interface LiveState {
  readonly phase: Phase;
  readonly engine: EngineState | undefined;
  readonly attempt: number;
  readonly nextTryAtMs: number | undefined;
  /** Server's clock minus the page's, in milliseconds. */
  readonly skewMs: number;
  /** How often another engine (instance) was found than before: whoever shows fetched data fetches again when it changes. */
  readonly generation: number;
  /** When another run of the engine was found than before, by the page's clock. */
  readonly restartedAtMs: number | undefined;
}

export interface TopicHandlers {
  onSync?(data: unknown, ids: readonly string[] | null, atMs: number): void;
  onEvent?(event: LiveEvent): void;
  onGap?(reason: string, dropped: number): void;
  onStatus?(status: "joining" | "live" | "refused", reason: string | null): void;
}

const BACKOFF: BackoffOptions = { firstMs: 500, maxMs: 10_000, jitter: 0.2 };
const PING_MS = 15_000;
const SILENT_MS = 40_000;

/** The page's one WebSocket: joins streams, joins them again after a loss, tells how things stand. */
export class LiveConnection {
  #state: LiveState = { phase: "connecting", engine: undefined, attempt: 0, nextTryAtMs: undefined, skewMs: 0, generation: 0, restartedAtMs: undefined };
  readonly #stateListeners = new Set<() => void>();
  readonly #topics = new Map<string, { readonly stream: string; readonly group: string; readonly handlers: TopicHandlers }>();
  #socket: WebSocket | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #lastName = 0;
  #lastHeardMs = 0;
  #instanceId: string | null = null;
  #roundTripMs: number | undefined;

  /** Opens it, for as long as the page lives. */
  start(): void {
    this.#open();
    window.addEventListener("online", () => this.retryNow());
    window.addEventListener("offline", () => this.#set({ phase: "offline" }));
    setInterval(() => this.#beat(), PING_MS);
  }

  readonly getState = (): LiveState => this.#state;

  /** Measures the way to the console's server and back, besides the regular beat; `roundTripMs` is the answer. */
  ping(): void {
    this.#send({ type: "ping", t: performance.now() });
  }

  /** Of the last ping, in milliseconds. */
  get roundTripMs(): number | undefined {
    return this.#roundTripMs;
  }

  readonly onState = (listener: () => void): (() => void) => {
    this.#stateListeners.add(listener);
    return () => {
      this.#stateListeners.delete(listener);
    };
  };

  /** Joins a group of a stream until the returned function is called. */
  subscribe(stream: string, group: string, handlers: TopicHandlers): () => void {
    const id = `t${++this.#lastName}`;
    this.#topics.set(id, { stream, group, handlers });
    this.#send({ type: "subscribe", id, stream, group });
    return () => {
      if (this.#topics.delete(id)) this.#send({ type: "unsubscribe", id });
    };
  }

  retryNow(): void {
    if (this.#socket !== undefined) return;
    clearTimeout(this.#retry);
    void this.#reopen();
  }

  /** A console that was started again takes another token; the browser does not tell why a socket was refused. */
  async #reopen(): Promise<void> {
    await renewPageToken();
    if (this.#socket === undefined) this.#open();
  }

  #open(): void {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/ws/console`, [`svc.console.${pageToken}`]);
    this.#socket = socket;
    this.#lastHeardMs = performance.now();
    socket.addEventListener("open", () => {
      for (const [id, { stream, group }] of this.#topics) this.#send({ type: "subscribe", id, stream, group });
    });
    socket.addEventListener("message", (event: MessageEvent<string>) => {
      this.#lastHeardMs = performance.now();
      for (const message of JSON.parse(event.data) as readonly ServerMessage[]) this.#take(message);
    });
    socket.addEventListener("close", ({ code }) => {
      if (code === LOGIN_REQUIRED) endSession();
      else if (this.#socket === socket) this.#lost();
    });
  }

  #lost(): void {
    this.#socket = undefined;
    const attempt = this.#state.attempt + 1;
    const waitMs = backoffMs(BACKOFF, attempt);
    this.#set({ phase: navigator.onLine ? "reconnecting" : "offline", attempt, nextTryAtMs: Date.now() + waitMs });
    for (const { handlers } of this.#topics.values()) handlers.onStatus?.("joining", "the connection to the console's server was lost");
    this.#retry = setTimeout(() => void this.#reopen(), waitMs);
  }

  #take(message: ServerMessage): void {
    switch (message.type) {
      case "hello":
        this.#set({ attempt: 0, nextTryAtMs: undefined, skewMs: message.server_time_ms - Date.now() });
        this.#takeEngine(message.engine);
        return;
      case "engine":
        this.#takeEngine(message.engine);
        return;
      case "pong":
        this.#roundTripMs = performance.now() - message.t;
        return;
      case "error":
        console.error(`the console's server: ${message.code}: ${message.message}`);
        return;
      default:
        this.#takeTopic(message);
    }
  }

  #takeTopic(message: Extract<ServerMessage, { readonly type: "sync" | "event" | "gap" | "status" }>): void {
    const handlers = this.#topics.get(message.id)?.handlers;
    if (handlers === undefined) return;
    if (message.type === "sync") handlers.onSync?.(message.data, message.ids, message.at_ms);
    else if (message.type === "event") handlers.onEvent?.(message.event);
    else if (message.type === "gap") handlers.onGap?.(message.reason, message.dropped ?? 0);
    else handlers.onStatus?.(message.status, message.reason);
  }

  #takeEngine(engine: EngineState): void {
    // Without streams everything but live updates works.
    const isThere = engine.bridge === "connected" && (engine.realtime === "connected" || engine.realtime === "refused");
    const isAnother = engine.instance_id !== null && this.#instanceId !== null && engine.instance_id !== this.#instanceId;
    if (engine.instance_id !== null) this.#instanceId = engine.instance_id;
    const wasAway = this.#state.phase !== "live";
    // After an absence what was fetched may be out of date, whether or not it is another engine.
    const generation = this.#state.generation + (isAnother || (isThere && wasAway && this.#state.engine !== undefined) ? 1 : 0);
    this.#set({ phase: isThere ? "live" : "engine-away", engine, generation, ...(isAnother ? { restartedAtMs: Date.now() } : {}) });
  }

  #beat(): void {
    if (this.#socket === undefined) return;
    if (performance.now() - this.#lastHeardMs > SILENT_MS) this.#socket.close();
    else this.#send({ type: "ping", t: performance.now() });
  }

  #send(message: ClientMessage): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #set(change: Partial<LiveState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#stateListeners) listener();
  }
}

export const live = new LiveConnection();
