import { type BackoffOptions, backoffMs } from "@svc-runtime/protocol/backoff";
import type { ClientMessage, EngineState, LiveEvent, ServerMessage } from "../../contract/live.ts";
import { LOGIN_REQUIRED } from "../../contract/login.ts";
import { t } from "../labels/translate.ts";
import { endSession, pageToken, renewPageToken } from "./page-token.ts";

/**
 * State of the connection to the engine. `offline`: the browser has no network. `reconnecting`: the console's server
 * cannot be reached. `engine-away`: the server can be reached but the engine cannot. `live`: calls work, and so do live
 * updates unless the engine rejects them.
 */
export type Phase = "connecting" | "live" | "reconnecting" | "engine-away" | "offline";

export interface LiveState {
  readonly phase: Phase;
  readonly engine: EngineState | undefined;
  readonly attempt: number;
  readonly nextTryAtMs: number | undefined;
  /** Time of the server's clock minus the time of the page's clock, in milliseconds. */
  readonly skewMs: number;
  /** True after the phase was `live` for the first time. Before that, the page has no data. */
  readonly hasBeenLive: boolean;
  /** Number of reconnects and restarts of the engine. When it changes, data must be fetched again. */
  readonly generation: number;
  /** Time at which a restart of the engine was detected, on the page's clock. */
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
const IDLE_TIMEOUT_MS = 40_000;

/**
 * The page's WebSocket to the console's server. It subscribes to streams, subscribes again after a disconnect, and
 * reports the state.
 */
export class LiveConnection {
  #state: LiveState = {
    phase: "connecting",
    engine: undefined,
    attempt: 0,
    nextTryAtMs: undefined,
    skewMs: 0,
    hasBeenLive: false,
    generation: 0,
    restartedAtMs: undefined,
  };
  readonly #stateListeners = new Set<() => void>();
  readonly #topics = new Map<
    string,
    { readonly stream: string; readonly group: string; readonly handlers: TopicHandlers }
  >();
  #socket: WebSocket | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #lastName = 0;
  #lastHeardMs = 0;
  #instanceId: string | null = null;
  #roundTripMs: number | undefined;

  /** Opens the connection. It stays in use as long as the page is open. */
  start(): void {
    this.#open();
    window.addEventListener("online", () => this.retryNow());
    window.addEventListener("offline", () => this.#set({ phase: "offline" }));
    setInterval(() => this.#heartbeat(), PING_MS);
  }

  readonly getState = (): LiveState => this.#state;

  /** Measures the round trip to the console's server. The result is in `roundTripMs`. */
  ping(): void {
    this.#send({ type: "ping", t: performance.now() });
  }

  /** Round trip of the last ping, in milliseconds. */
  get roundTripMs(): number | undefined {
    return this.#roundTripMs;
  }

  readonly onState = (listener: () => void): (() => void) => {
    this.#stateListeners.add(listener);
    return () => {
      this.#stateListeners.delete(listener);
    };
  };

  /** Subscribes to a group of a stream until the returned function is called. */
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

  /**
   * Gets a new page token before it reconnects. A restarted console has another token, and the browser does not report
   * why it closed a socket.
   */
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
      for (const message of JSON.parse(event.data) as readonly ServerMessage[]) this.#receive(message);
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
    for (const { handlers } of this.#topics.values())
      handlers.onStatus?.("joining", t`the connection to the console's server was lost`);
    this.#retry = setTimeout(() => void this.#reopen(), waitMs);
  }

  #receive(message: ServerMessage): void {
    switch (message.type) {
      case "hello":
        this.#set({ attempt: 0, nextTryAtMs: undefined, skewMs: message.server_time_ms - Date.now() });
        this.#receiveEngine(message.engine);
        return;
      case "engine":
        this.#receiveEngine(message.engine);
        return;
      case "pong":
        this.#roundTripMs = performance.now() - message.t;
        return;
      case "error":
        console.error(`the console's server: ${message.code}: ${message.message}`);
        return;
      default:
        this.#receiveTopic(message);
    }
  }

  #receiveTopic(message: Extract<ServerMessage, { readonly type: "sync" | "event" | "gap" | "status" }>): void {
    const handlers = this.#topics.get(message.id)?.handlers;
    if (handlers === undefined) return;
    if (message.type === "sync") handlers.onSync?.(message.data, message.ids, message.at_ms);
    else if (message.type === "event") handlers.onEvent?.(message.event);
    else if (message.type === "gap") handlers.onGap?.(message.reason, message.dropped ?? 0);
    else handlers.onStatus?.(message.status, message.reason);
  }

  #receiveEngine(engine: EngineState): void {
    // If only the streams are rejected, everything except live updates works, so this counts as connected.
    const isConnected =
      engine.bridge === "connected" && (engine.realtime === "connected" || engine.realtime === "refused");
    const isAnother =
      engine.instance_id !== null && this.#instanceId !== null && engine.instance_id !== this.#instanceId;
    if (engine.instance_id !== null) this.#instanceId = engine.instance_id;
    const wasDisconnected = this.#state.phase !== "live";
    // After a disconnect, data must be fetched again, even if the engine is the same.
    const generation =
      this.#state.generation +
      (isAnother || (isConnected && wasDisconnected && this.#state.engine !== undefined) ? 1 : 0);
    this.#set({
      phase: isConnected ? "live" : "engine-away",
      hasBeenLive: isConnected || this.#state.hasBeenLive,
      engine,
      generation,
      ...(isAnother ? { restartedAtMs: Date.now() } : {}),
    });
  }

  #heartbeat(): void {
    if (this.#socket === undefined) return;
    if (performance.now() - this.#lastHeardMs > IDLE_TIMEOUT_MS) this.#socket.close();
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
