import { CallError } from "@svc/protocol";
import { redactAddress } from "./address.ts";
import type { Backoff } from "./backoff.ts";
import type { Clock } from "./clock.ts";
import type { Logger } from "./logger.ts";
import { SilenceWatch } from "./silence-watch.ts";
import type { OpenSocket, Socket, UpgradeRefusal } from "./socket.ts";

/**
 * `connecting`: the first attempt is under way. `connected`: the engine has greeted this worker. `reconnecting`: the connection
 * was lost, or an attempt failed, and the next one waits or is under way. `failed`: the allowed attempts are used up.
 * `closed`: the worker was shut down. `disconnected`: not started.
 */
export type ConnectionState = "disconnected" | "connecting" | "connected" | "reconnecting" | "failed" | "closed";

export const HANDSHAKE_TIMEOUT_MS = 10_000;
/** A connection that lasted so long counts as good, and the back-off starts anew. */
export const STABLE_AFTER_MS = 5000;
/** How long a goodbye may take before the socket is cut. */
export const CLOSE_TIMEOUT_MS = 1000;

export interface ConnectionEvents {
  opened(): void;
  message(text: string): void;
  /** Only after `opened`. */
  lost(): void;
  state(state: ConnectionState): void;
}

export interface ConnectionOptions {
  readonly address: string;
  readonly openSocket: OpenSocket;
  readonly clock: Clock;
  readonly backoff: Backoff;
  readonly logger: Logger;
  readonly events: ConnectionEvents;
  /** Whether a close with this code is the engine's last word, after which no attempt is made. Default: none is. */
  readonly isFinal?: ((closeCode: number) => boolean) | undefined;
}

/** Keeps one socket to the engine open: handshake deadline, heartbeat, and a new attempt after every close, clean or not. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #shownAddress: string;
  #state: ConnectionState = "disconnected";
  #socket: Socket | undefined;
  #open = false;
  #wasConfirmed = false;
  #lastProblem = "";
  /** Why this side ends the present socket; empty when it does not. */
  #cause = "";
  #refusal: UpgradeRefusal | undefined;
  readonly #silence: SilenceWatch;
  readonly #timers = new Set<() => void>();
  #stopped: (() => void) | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#shownAddress = redactAddress(options.address);
    this.#silence = new SilenceWatch({
      clock: options.clock,
      ask: () => this.#socket?.ping?.(),
      dead: (silentMs) => this.drop(`nothing was heard from the engine for ${silentMs} ms`),
    });
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Why the last attempt or connection ended; empty when none has. */
  get lastProblem(): string {
    return this.#lastProblem;
  }

  /** How the last attempt was refused; undefined when it was not. */
  get refusal(): UpgradeRefusal | undefined {
    return this.#refusal;
  }

  /** Whether the engine ever greeted this worker. */
  get wasConfirmed(): boolean {
    return this.#wasConfirmed;
  }

  /** The address without secrets. */
  get shownAddress(): string {
    return this.#shownAddress;
  }

  get bufferedBytes(): number {
    return this.#socket?.bufferedBytes ?? 0;
  }

  start(): void {
    if (this.#state !== "disconnected") return;
    this.#attempt("connecting");
  }

  /** Frames that come while no socket is open are dropped; the session sends none then. */
  send(frame: string | Uint8Array): void {
    if (this.#open) this.#socket?.send(frame);
  }

  flushed(): Promise<void> {
    return this.#socket?.flushed() ?? Promise.resolve();
  }

  /** The engine greeted this worker: the connection works. */
  confirmed(): void {
    if (!this.#open) return;
    this.#wasConfirmed = true;
    this.#options.backoff.reset();
    this.#enter("connected");
  }

  /** Cuts the socket; a new attempt follows. For an engine that has stopped reading. */
  drop(reason: string): void {
    this.#cause = reason;
    this.#socket?.terminate();
  }

  /** Ends for good. Resolves when the socket is closed, at the latest after a second. */
  async stop(): Promise<void> {
    if (this.#state === "closed") return;
    const socket = this.#socket;
    this.#cancelTimers();
    if (socket === undefined) {
      this.#enter("closed");
      return;
    }
    const closed = new Promise<void>((resolve) => {
      this.#stopped = resolve;
    });
    this.#after(CLOSE_TIMEOUT_MS, () => socket.terminate());
    if (this.#open) socket.close();
    else socket.terminate();
    await closed;
  }

  #attempt(state: "connecting" | "reconnecting"): void {
    const { address, openSocket } = this.#options;
    this.#enter(state);
    // Set by the callbacks of this attempt's socket; nothing of an earlier socket is alive here.
    let closedWhileOpening: string | undefined;
    this.#cause = "";
    try {
      this.#socket = openSocket(address, {
        opened: () => this.#onOpened(),
        message: (text) => this.#onMessage(text),
        alive: () => this.#silence.heard(),
        closed: (reason, refusal, code) => {
          if (this.#socket === undefined) closedWhileOpening = reason;
          else this.#onClosed(reason, refusal, code);
        },
      });
    } catch (thrown) {
      closedWhileOpening = thrown instanceof Error ? thrown.message : String(thrown);
    }
    if (closedWhileOpening !== undefined) {
      this.#onClosed(closedWhileOpening);
      return;
    }
    this.#after(HANDSHAKE_TIMEOUT_MS, () => {
      this.#cause = `the handshake took longer than ${HANDSHAKE_TIMEOUT_MS} ms`;
      this.#socket?.terminate();
    });
  }

  #onOpened(): void {
    this.#cancelTimers();
    // A stop that came during the handshake keeps its own way; its socket is being cut.
    if (this.#stopped !== undefined) return;
    this.#open = true;
    this.#lastProblem = "";
    this.#refusal = undefined;
    this.#after(STABLE_AFTER_MS, () => this.#options.backoff.reset());
    if (this.#socket?.ping !== undefined) this.#silence.start();
    this.#guard(() => this.#options.events.opened());
  }

  #onMessage(text: string): void {
    this.#silence.heard();
    this.#guard(() => this.#options.events.message(text));
  }

  #onClosed(reason: string, refusal?: UpgradeRefusal, code?: number): void {
    const wasOpen = this.#open;
    this.#open = false;
    this.#socket = undefined;
    this.#cancelTimers();
    this.#lastProblem = this.#cause === "" ? reason : this.#cause;
    this.#refusal = refusal;
    if (wasOpen) this.#guard(() => this.#options.events.lost());
    if (this.#stopped !== undefined) {
      this.#enter("closed");
      this.#stopped();
      return;
    }
    // A listener told of the loss may have shut the worker down already.
    if (this.#state === "closed") return;
    this.#planNext(code !== undefined && this.#options.isFinal?.(code) === true);
  }

  #planNext(isOver: boolean): void {
    const { backoff, logger } = this.#options;
    const delayMs = isOver ? undefined : backoff.next();
    const status = this.#refusal === undefined ? {} : { status: this.#refusal.status };
    const fields = { address: this.#shownAddress, reason: this.#lastProblem, ...status, attempt: backoff.attempts };
    if (delayMs === undefined) {
      logger.error("gave up connecting to the engine", fields);
      this.#enter("failed");
      return;
    }
    logger.warn("not connected to the engine, trying again", { ...fields, delay_ms: delayMs });
    this.#after(delayMs, () => this.#attempt("reconnecting"));
    this.#enter("reconnecting");
  }

  #enter(state: ConnectionState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#guard(() => this.#options.events.state(state));
  }

  #after(delayMs: number, action: () => void): void {
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#timers.delete(cancel);
      action();
    });
    this.#timers.add(cancel);
  }

  #cancelTimers(): void {
    this.#silence.stop();
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  /** What a listener throws must not reach the socket's loop. */
  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#options.logger.error("a connection listener failed; this is a defect of the SDK or of a listener", { error });
    }
  }
}

/** The error of a wait for the connection that ended without one. */
export function notConnected(connection: Connection, why: string): CallError {
  const problem = connection.lastProblem === "" ? "" : `: ${connection.lastProblem}`;
  const { shownAddress: address, refusal } = connection;
  const refused = refusal === undefined ? {} : { status: refusal.status, ...(refusal.message === undefined ? {} : { engine_message: refusal.message }) };
  return new CallError("disconnected", `${why} ${address}${problem}`, { details: { address, executed: "no", ...refused } });
}
