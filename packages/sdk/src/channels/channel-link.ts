import { CallError, type ChannelRef, channelPath } from "@svc/protocol";
import type { Clock } from "../clock.ts";
import { type ChannelItem, type ChannelSocket, CLOSE_NORMAL, CLOSE_WITHOUT_CODE, type OpenChannelSocket } from "./channel-socket.ts";
import { HANDSHAKE_TIMEOUT_MS, IDLE_LIMIT_MS, PING_EVERY_MS } from "./limits.ts";

/** What the ends of channels need of their worker. */
export interface ChannelHost {
  /** The engine's address, as given to `connect`. */
  readonly address: string;
  readonly openSocket: OpenChannelSocket;
  readonly clock: Clock;
  /** Why no end may be connected any more, or undefined. */
  refusal(): CallError | undefined;
  /** Keeps a connected end until the returned undo is called; the worker breaks off what is left at its shutdown. */
  keep(end: OpenEnd): () => void;
}

/** A connected end as its worker sees it. */
export interface OpenEnd {
  readonly closed: Promise<void>;
  breakOff(error: CallError): void;
}

export interface LinkEvents {
  opened?(): void;
  item?(item: ChannelItem): void;
  /** Comes once. Undefined: the other side parted in good order. */
  ended(error: CallError | undefined): void;
}

/** The one connection that an end of a channel may make: opened when first needed, never made again. */
export class ChannelLink implements OpenEnd {
  readonly ref: ChannelRef;
  #closed: Promise<void> | undefined;
  readonly #host: ChannelHost;
  readonly #events: LinkEvents;
  #resolveClosed: () => void = () => {};
  #state: "idle" | "connecting" | "open" | "ended" = "idle";
  #socket: ChannelSocket | undefined;
  #cancelTimer: () => void = () => {};
  #release: () => void = () => {};
  #lastHeardMs = 0;
  #isPaused = false;

  constructor(host: ChannelHost, ref: ChannelRef, events: LinkEvents) {
    this.#host = host;
    this.ref = ref;
    this.#events = events;
  }

  /** Resolves when the connection is over. Made on demand: most ends are never connected. */
  get closed(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      if (this.#state === "ended") resolve();
      else this.#resolveClosed = resolve;
    });
    return this.#closed;
  }

  /** The socket while it is open. */
  get socket(): ChannelSocket | undefined {
    return this.#state === "open" ? this.#socket : undefined;
  }

  /** Connects, if that was not done before; `opened` or `ended` follows. */
  start(): void {
    if (this.#state !== "idle") return;
    const refusal = this.#host.refusal();
    if (refusal !== undefined) {
      this.#end(refusal);
      return;
    }
    this.#state = "connecting";
    this.#release = this.#host.keep(this);
    this.#cancelTimer = this.#host.clock.after(HANDSHAKE_TIMEOUT_MS, () =>
      this.breakOff(this.torn(`the handshake took longer than ${HANDSHAKE_TIMEOUT_MS} ms`)),
    );
    try {
      this.#socket = this.#host.openSocket(channelAddress(this.#host.address, this.ref), {
        opened: () => this.#onOpened(),
        item: (item) => {
          this.#heard();
          if (this.#state === "open") this.#events.item?.(item);
        },
        alive: () => this.#heard(),
        closed: (code, reason) => this.#onClosed(code, reason),
      });
    } catch (thrown) {
      this.#end(this.torn(thrown instanceof Error ? thrown.message : String(thrown)));
    }
  }

  #onOpened(): void {
    if (this.#state !== "connecting") return;
    this.#state = "open";
    this.#cancelTimer();
    this.#heard();
    this.#events.opened?.();
  }

  #onClosed(code: number, reason: string): void {
    const inOrder = this.#state === "open" && (code === CLOSE_NORMAL || code === CLOSE_WITHOUT_CODE);
    this.#end(inOrder ? undefined : this.torn(reason === "" ? `closed with code ${code}` : reason, code));
  }

  #end(error: CallError | undefined): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#cancelTimer();
    this.#release();
    this.#resolveClosed();
    this.#events.ended(error);
  }

  // --- liveness, for ends that read ---

  #heard(): void {
    this.#lastHeardMs = this.#host.clock.monotonicMs();
  }

  /** Pings from now on, and gives the connection up when nothing comes for a minute. Writers do not: an engine that holds them back reads no pings. */
  watch(): void {
    const socket = this.socket;
    if (socket?.ping === undefined) return;
    this.#cancelTimer = this.#host.clock.after(PING_EVERY_MS, () => {
      // While it is paused nothing can be heard.
      if (this.#isPaused) this.#heard();
      else if (this.#host.clock.monotonicMs() - this.#lastHeardMs >= IDLE_LIMIT_MS) {
        this.breakOff(this.torn(`nothing was heard from the engine for ${IDLE_LIMIT_MS} ms`));
        return;
      } else socket.ping?.();
      this.watch();
    });
  }

  /** False where the platform cannot hold a socket back. */
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
    this.#heard();
    this.socket?.resume?.();
  }

  // --- ends ---

  /** Parts in good order, behind everything that was sent; `ended` follows when the other side has agreed. */
  close(): void {
    if (this.#state === "open") {
      this.#isPaused = false;
      this.#socket?.close();
    } else this.breakOff(undefined);
  }

  /** Cuts the connection, so that the other side sees that the stream is not whole. */
  breakOff(error: CallError | undefined): void {
    if (this.#state === "ended") return;
    const socket = this.#socket;
    this.#end(error);
    socket?.terminate();
  }

  torn(reason: string, code?: number): CallError {
    return channelClosed(this.ref, reason, code);
  }
}

/** The error of an end whose channel broke off. */
export function channelClosed(ref: ChannelRef, reason: string, code?: number): CallError {
  const end = ref.direction === "read" ? "reading" : "writing";
  return new CallError("channel_closed", `the ${end} end of channel ${ref.channel_id} broke off: ${reason}`, {
    details: { channel_id: ref.channel_id, direction: ref.direction, reason, ...(code === undefined ? undefined : { close_code: code }) },
  });
}

/** Where an end connects: the engine's address, with its credentials and without its query. */
export function channelAddress(base: string, ref: ChannelRef): string {
  const url = new URL(base);
  url.search = "";
  return url.href.replace(/\/$/, "") + channelPath(ref);
}
