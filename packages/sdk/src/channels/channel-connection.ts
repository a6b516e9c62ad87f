import { CallError, type ChannelRef, channelPath } from "@svc-runtime/protocol/client";
import type { ChannelHost, OpenEnd } from "./channel-host.ts";
import {
  type ChannelItem,
  type ChannelSocket,
  CLOSE_NORMAL,
  CLOSE_WITHOUT_CODE,
  type OpenChannelSocket,
} from "./channel-socket.ts";
import { HANDSHAKE_TIMEOUT_MS, IDLE_LIMIT_MS, PING_EVERY_MS } from "./limits.ts";

export interface ChannelConnectionEvents {
  opened?(): void;
  item?(item: ChannelItem): void;
  /** Called once. `error` is undefined if the stream ended normally. */
  ended(error: CallError | undefined): void;
}

/** The connection of a channel end. There is only one: it is opened when the end is first used, and never reopened. */
export class ChannelConnection implements OpenEnd {
  readonly ref: ChannelRef;
  #closed: Promise<void> | undefined;
  readonly #host: ChannelHost;
  readonly #openSocket: OpenChannelSocket;
  readonly #events: ChannelConnectionEvents;
  #resolveClosed: () => void = () => {};
  #state: "idle" | "connecting" | "open" | "ended" = "idle";
  #socket: ChannelSocket | undefined;
  #cancelTimer: () => void = () => {};
  #release: () => void = () => {};
  #lastReceivedMs = 0;
  #isPaused = false;

  constructor(host: ChannelHost, openSocket: OpenChannelSocket, ref: ChannelRef, events: ChannelConnectionEvents) {
    this.#host = host;
    this.#openSocket = openSocket;
    this.ref = ref;
    this.#events = events;
  }

  /**
   * Resolves when the connection has ended. The promise is created only when it is read, because most ends are never
   * connected.
   */
  get closed(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      if (this.#state === "ended") resolve();
      else this.#resolveClosed = resolve;
    });
    return this.#closed;
  }

  /** The socket, while it is open. */
  get socket(): ChannelSocket | undefined {
    return this.#state === "open" ? this.#socket : undefined;
  }

  /** Connects, if this is the first call. `opened` or `ended` is called later. */
  start(): void {
    if (this.#state !== "idle") return;
    const refusal = this.#host.refusal();
    if (refusal !== undefined) {
      this.#end(refusal);
      return;
    }
    this.#state = "connecting";
    this.#release = this.#host.track(this);
    this.#cancelTimer = this.#host.clock.after(HANDSHAKE_TIMEOUT_MS, () =>
      this.breakOff(this.closedError(`the handshake took longer than ${HANDSHAKE_TIMEOUT_MS} ms`)),
    );
    try {
      this.#socket = this.#openSocket(channelAddress(this.#host.address, this.ref), {
        opened: () => this.#onOpened(),
        item: (item) => {
          this.#received();
          if (this.#state === "open") this.#events.item?.(item);
        },
        alive: () => this.#received(),
        closed: (code, reason) => this.#onClosed(code, reason),
      });
    } catch (thrown) {
      this.#end(this.closedError(thrown instanceof Error ? thrown.message : String(thrown)));
    }
  }

  #onOpened(): void {
    if (this.#state !== "connecting") return;
    this.#state = "open";
    this.#cancelTimer();
    this.#received();
    this.#events.opened?.();
  }

  #onClosed(code: number, reason: string): void {
    const isNormal = this.#state === "open" && (code === CLOSE_NORMAL || code === CLOSE_WITHOUT_CODE);
    this.#end(isNormal ? undefined : this.closedError(reason === "" ? `closed with code ${code}` : reason, code));
  }

  #end(error: CallError | undefined): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#cancelTimer();
    this.#release();
    this.#resolveClosed();
    this.#events.ended(error);
  }

  // --- liveness, for readers ---

  #received(): void {
    this.#lastReceivedMs = this.#host.clock.monotonicMs();
  }

  /**
   * Begins to send pings, and aborts when nothing is received for a minute. It is for readers only: an engine that
   * applies backpressure to a writer does not read the writer's pings.
   */
  watch(): void {
    const socket = this.socket;
    if (socket?.ping === undefined) return;
    this.#cancelTimer = this.#host.clock.after(PING_EVERY_MS, () => {
      // A paused socket receives nothing, so the pause counts as a sign of life.
      if (this.#isPaused) this.#received();
      else if (this.#host.clock.monotonicMs() - this.#lastReceivedMs >= IDLE_LIMIT_MS) {
        this.breakOff(this.closedError(`nothing was received from the engine for ${IDLE_LIMIT_MS} ms`));
        return;
      } else socket.ping?.();
      this.watch();
    });
  }

  /** Returns false if the platform cannot pause a socket. */
  pause(): boolean {
    const socket = this.socket;
    if (socket?.pause === undefined) return socket === undefined;
    socket.pause();
    this.#isPaused = true;
    return true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#received();
    this.socket?.resume?.();
  }

  // --- ends ---

  /** Closes normally, after everything that was sent. `ended` is called when the other side has confirmed. */
  close(): void {
    if (this.#state === "open") {
      this.#isPaused = false;
      this.#socket?.close();
    } else this.breakOff(undefined);
  }

  /** Destroys the connection, so that the other side sees that the stream is incomplete. */
  breakOff(error: CallError | undefined): void {
    if (this.#state === "ended") return;
    const socket = this.#socket;
    this.#end(error);
    socket?.terminate();
  }

  closedError(reason: string, code?: number): CallError {
    return channelClosed(this.ref, reason, code);
  }
}

/** Returns the error for an end whose channel did not end normally. */
export function channelClosed(ref: ChannelRef, reason: string, code?: number): CallError {
  const end = ref.direction === "read" ? "reader" : "writer";
  return new CallError("channel_closed", `the ${end} of channel ${ref.channel_id} failed: ${reason}`, {
    details: {
      channel_id: ref.channel_id,
      direction: ref.direction,
      reason,
      ...(code === undefined ? undefined : { close_code: code }),
    },
  });
}

/** Returns the address of an end. It is the engine's address with its credentials, but without its query. */
export function channelAddress(base: string, ref: ChannelRef): string {
  const url = new URL(base);
  url.search = "";
  return url.href.replace(/\/$/, "") + channelPath(ref);
}
