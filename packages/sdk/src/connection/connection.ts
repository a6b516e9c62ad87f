import { CallError } from "@svc-runtime/protocol/client";
import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { redactAddress } from "./address.ts";
import type { Backoff } from "./backoff.ts";
import { LivenessCheck } from "./liveness-check.ts";
import type { OpenSocket, Socket, UpgradeRefusal } from "./socket.ts";

/**
 * State of a connection:
 * - `disconnected`: it was not started.
 * - `connecting`: the first attempt is in progress.
 * - `connected`: the engine has registered this worker.
 * - `reconnecting`: the connection was lost or an attempt failed; the next attempt is scheduled or in progress.
 * - `failed`: no attempts are left.
 * - `closed`: the worker was shut down.
 */
export type ConnectionState = "disconnected" | "connecting" | "connected" | "reconnecting" | "failed" | "closed";

export const HANDSHAKE_TIMEOUT_MS = 10_000;
/** A connection that lasted this long, in milliseconds, is stable and resets the backoff. */
export const STABLE_AFTER_MS = 5000;
/** Time limit of the closing handshake, in milliseconds. After it, the socket is terminated. */
export const CLOSE_TIMEOUT_MS = 1000;

export interface ConnectionEvents {
  opened(): void;
  message(text: string): void;
  /** Called when the connection is lost. It is called only after `opened`. */
  lost(): void;
  state(state: ConnectionState): void;
}

export interface ConnectionOptions {
  readonly address: string;
  /**
   * Addresses of further engines of the same cluster. When the connection is lost, the next address is tried at once.
   * Default: none.
   */
  readonly further?: readonly string[] | undefined;
  readonly openSocket: OpenSocket;
  readonly clock: Clock;
  readonly backoff: Backoff;
  readonly logger: Logger;
  readonly events: ConnectionEvents;
  /** Returns true if no attempt may follow a close with this code. By default, an attempt always follows. */
  readonly isFinal?: ((closeCode: number) => boolean) | undefined;
}

/**
 * Keeps one socket to the engine open. It has a timeout for the handshake and a heartbeat, and makes a new attempt
 * after each close.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #addresses: readonly string[];
  /** Index of the address that is in use or that is being tried. */
  #at = 0;
  /** Number of attempts at other addresses since the last pause, or since the connection was stable. */
  #soonAttempts = 0;
  #state: ConnectionState = "disconnected";
  #socket: Socket | undefined;
  #open = false;
  #wasConfirmed = false;
  #lastProblem = "";
  /** The reason why this side terminates the current socket. Empty if it does not. */
  #dropReason = "";
  #refusal: UpgradeRefusal | undefined;
  readonly #liveness: LivenessCheck;
  readonly #timers = new Set<() => void>();
  #stopped: (() => void) | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#addresses = [options.address, ...(options.further ?? [])];
    this.#liveness = new LivenessCheck({
      clock: options.clock,
      ping: () => this.#socket?.ping?.(),
      onDead: (silentMs) => this.drop(`nothing was received from the engine for ${silentMs} ms`),
    });
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** The reason why the last attempt or connection ended. Empty if none has ended. */
  get lastProblem(): string {
    return this.#lastProblem;
  }

  /** The engine's refusal of the last attempt. Undefined if the engine did not refuse it. */
  get refusal(): UpgradeRefusal | undefined {
    return this.#refusal;
  }

  /** True if the engine has ever registered this worker. */
  get wasConfirmed(): boolean {
    return this.#wasConfirmed;
  }

  /** The address that is in use or that is being tried. */
  get address(): string {
    return this.#addresses[this.#at] ?? this.#options.address;
  }

  /** The address without secrets, for logs and errors. */
  get shownAddress(): string {
    return redactAddress(this.address);
  }

  get bufferedBytes(): number {
    return this.#socket?.bufferedBytes ?? 0;
  }

  start(): void {
    if (this.#state !== "disconnected") return;
    this.#attempt("connecting");
  }

  /** Sends a frame. Drops it if no socket is open; the session sends none then. */
  send(frame: string | Uint8Array): void {
    if (this.#open) this.#socket?.send(frame);
  }

  flushed(): Promise<void> {
    return this.#socket?.flushed() ?? Promise.resolve();
  }

  /** Must be called when the engine has registered this worker, which shows that the connection works. */
  confirmed(): void {
    if (!this.#open) return;
    this.#wasConfirmed = true;
    this.#options.backoff.reset();
    this.#enter("connected");
  }

  /** Terminates the socket, so that a new attempt follows. It is used if the engine has stopped reading. */
  drop(reason: string): void {
    this.#dropReason = reason;
    this.#socket?.terminate();
  }

  /**
   * Closes the connection and makes no new attempt. Resolves when the socket is closed, after one second at the latest.
   */
  async stop(): Promise<void> {
    if (this.#state === "closed") return;
    this.#cancelTimers();
    if (this.#socket === undefined) {
      this.#enter("closed");
      return;
    }
    const closed = new Promise<void>((resolve) => {
      this.#stopped = resolve;
    });
    this.leave();
    await closed;
  }

  /** Closes the socket. If it is open, this begins with a closing handshake. An attempt at the next address follows. */
  leave(): void {
    const socket = this.#socket;
    this.#after(CLOSE_TIMEOUT_MS, () => socket?.terminate());
    if (this.#open) socket?.close();
    else socket?.terminate();
  }

  #attempt(state: "connecting" | "reconnecting"): void {
    const { openSocket } = this.#options;
    this.#enter(state);
    // Set if the socket closes before `openSocket` returns. `closed` recognizes this by `#socket`, which is undefined
    // until then, because the earlier socket was removed when it closed.
    let closedWhileOpening: string | undefined;
    this.#dropReason = "";
    try {
      this.#socket = openSocket(this.address, {
        opened: () => this.#onOpened(),
        message: (text) => this.#onMessage(text),
        alive: () => this.#liveness.received(),
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
      this.#dropReason = `the handshake took longer than ${HANDSHAKE_TIMEOUT_MS} ms`;
      this.#socket?.terminate();
    });
  }

  #onOpened(): void {
    this.#cancelTimers();
    // `stop` was called during the handshake and has already terminated this socket.
    if (this.#stopped !== undefined) return;
    this.#open = true;
    this.#lastProblem = "";
    this.#refusal = undefined;
    this.#after(STABLE_AFTER_MS, () => {
      this.#options.backoff.reset();
      this.#soonAttempts = 0;
    });
    if (this.#socket?.ping !== undefined) this.#liveness.start();
    this.#guard(() => this.#options.events.opened());
  }

  #onMessage(text: string): void {
    this.#liveness.received();
    this.#guard(() => this.#options.events.message(text));
  }

  #onClosed(reason: string, refusal?: UpgradeRefusal, code?: number): void {
    const wasOpen = this.#open;
    this.#open = false;
    this.#socket = undefined;
    this.#cancelTimers();
    this.#lastProblem = this.#dropReason === "" ? reason : this.#dropReason;
    this.#refusal = refusal;
    if (wasOpen) this.#guard(() => this.#options.events.lost());
    if (this.#stopped !== undefined) {
      this.#enter("closed");
      this.#stopped();
      return;
    }
    // A listener of `lost` may have shut down the worker.
    if (this.#state === "closed") return;
    this.#scheduleRetry(code !== undefined && this.#options.isFinal?.(code) === true);
  }

  #scheduleRetry(isFinal: boolean): void {
    const { backoff, logger } = this.#options;
    const delayMs = isFinal ? undefined : this.#nextDelayMs();
    const status = this.#refusal === undefined ? {} : { status: this.#refusal.status };
    const fields = { address: this.shownAddress, reason: this.#lastProblem, ...status, attempt: backoff.attempts };
    if (delayMs === undefined) {
      logger.error("gave up connecting to the engine", fields);
      this.#enter("failed");
      return;
    }
    logger.warn("not connected to the engine; retrying", { ...fields, delay_ms: delayMs });
    this.#at = (this.#at + 1) % this.#addresses.length;
    this.#after(delayMs, () => this.#attempt("reconnecting"));
    this.#enter("reconnecting");
  }

  /**
   * Returns the pause before the next attempt. Each other address is tried almost at once, but only once before a
   * longer pause, so that engines that accept and then close connections are not flooded.
   */
  #nextDelayMs(): number | undefined {
    const { backoff } = this.#options;
    if (this.#soonAttempts < this.#addresses.length - 1) {
      this.#soonAttempts += 1;
      return backoff.soon();
    }
    this.#soonAttempts = 0;
    return backoff.next();
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
    this.#liveness.stop();
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  /** Catches errors of listeners, because they must not reach the socket's event loop. */
  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#options.logger.error("a connection listener failed", { error });
    }
  }
}

/** Returns the error for a wait that ended because there was no connection. */
export function notConnected(connection: Connection, why: string): CallError {
  const problem = connection.lastProblem === "" ? "" : `: ${connection.lastProblem}`;
  const { shownAddress: address, refusal } = connection;
  const refused =
    refusal === undefined
      ? {}
      : { status: refusal.status, ...(refusal.message === undefined ? {} : { engine_message: refusal.message }) };
  return new CallError("disconnected", `${why} ${address}${problem}`, {
    details: { address, executed: "no", ...refused },
  });
}
