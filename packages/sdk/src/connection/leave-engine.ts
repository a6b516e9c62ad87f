import type { Clock } from "../clock.ts";
import type { OwnRegistrations } from "../registration/own-registrations.ts";
import { within } from "../shutdown.ts";
import type { Connection } from "./connection.ts";
import type { Session } from "./session.ts";

/** Maximum time for which new calls wait at first for those in flight; then twice as long each time. */
const FIRST_HOLD_MS = 500;
/** Calls wait at most this long, so few deadlines pass and few calls wait at a time. */
const MAX_HOLD_MS = 2_000;
/** How often the deadlines of the calls that wait are looked at, in milliseconds. */
const LOOK_EVERY_MS = 10;
/** An engine that is cut off from its cluster is left once in this time: the next one may be cut off, too. */
const LEAVE_AGAIN_MS = 300_000;
/** It asks every second. This much later, it asks because it is cut off again. */
const PAUSE_MS = 10_000;
const DRAINING = '{"type":"draining"';

/**
 * Leaves an engine for the next one, when it sends `draining`. Not in pages: there it would be loaded at the start, and
 * the engine closes their connections when they are idle.
 */
export class LeaveEngine {
  readonly #session: Session;
  readonly #connection: Connection;
  readonly #handlers: Pick<OwnRegistrations, "callEnds">;
  readonly #knowsOthers: boolean;
  readonly #clock: Clock;
  #holdMs = FIRST_HOLD_MS;
  /** After calls waited in vain, none waits until then, on the monotonic clock: they wait at most half of the time. */
  #holdAgainAt = Number.NEGATIVE_INFINITY;
  /** When an engine that is cut off is left whatever is in flight, on the monotonic clock. */
  #leaveAt = Number.NEGATIVE_INFINITY;
  #isStopped = false;
  /** When the worker left an engine that was cut off, on the monotonic clock. */
  #leftCutOffAt = Number.NEGATIVE_INFINITY;

  /** `others`: addresses of other engines. */
  constructor(
    session: Session,
    connection: Connection,
    handlers: Pick<OwnRegistrations, "callEnds">,
    others: readonly string[],
    clock: Clock,
  ) {
    this.#session = session;
    this.#connection = connection;
    this.#handlers = handlers;
    this.#knowsOthers = others.length > 0;
    this.#clock = clock;
  }

  /** Returns whether the frame is `draining`. All others are the session's. */
  takes(frame: string): boolean {
    if (!frame.startsWith(DRAINING)) return false;
    void this.#leave(withinMsOf(frame));
    return true;
  }

  /** The worker shuts down: it stays, and no call waits any more. */
  stop(): void {
    this.#isStopped = true;
    this.#release();
  }

  /** Leaves when no call is in flight. One that is cut off is left after `withinMs` in any case. Both ask again. */
  async #leave(withinMs: number | undefined): Promise<void> {
    const session = this.#session;
    if (this.#isStopped || !this.#knowsOthers || !session.isOpen || session.isHolding) return;
    const now = this.#clock.monotonicMs();
    if (withinMs !== undefined) {
      if (now - this.#leftCutOffAt < LEAVE_AGAIN_MS) return;
      if (now - this.#leaveAt > PAUSE_MS) this.#leaveAt = now + withinMs;
    }
    const leftMs = withinMs === undefined ? Number.POSITIVE_INFINITY : Math.max(0, this.#leaveAt - now);
    // Running handlers may need calls of their own.
    if (leftMs > 0 && (now < this.#holdAgainAt || this.#handlers.callEnds().length > 0)) return;
    session.isHolding = true;
    const areCallsOver = await this.#areCallsOver(Math.min(this.#holdMs, leftMs));
    // Else the connection was lost meanwhile.
    if (!session.isOpen || !session.isHolding) return;
    const endedAt = this.#clock.monotonicMs();
    const isDue = withinMs !== undefined && endedAt >= this.#leaveAt;
    if (isDue || (areCallsOver && this.#handlers.callEnds().length === 0)) {
      if (withinMs !== undefined) this.#leftCutOffAt = now;
      this.#holdMs = FIRST_HOLD_MS;
      this.#connection.leave();
    } else {
      this.#holdMs = Math.min(2 * this.#holdMs, MAX_HOLD_MS);
      this.#holdAgainAt = endedAt + (endedAt - now);
      this.#release();
    }
  }

  /**
   * Resolves with whether the calls in flight are over. Waits for that at most for this time, and at most for half of
   * the time that any call has left.
   */
  async #areCallsOver(holdMs: number): Promise<boolean> {
    const session = this.#session;
    let areOver = false;
    // All of them were sent: none waits on an open connection.
    const over = Promise.all(session.callEnds()).then(() => {
      areOver = true;
    });
    let endsAt = this.#clock.monotonicMs() + holdMs;
    for (;;) {
      const now = this.#clock.monotonicMs();
      const leftMs = session.nextDeadlineMs - now;
      // Those whose time is over are about to end.
      if (leftMs > 0) endsAt = Math.min(endsAt, now + leftMs / 2);
      if (areOver || now >= endsAt || !session.isHolding) return areOver;
      await within(this.#clock, Math.min(LOOK_EVERY_MS, endsAt - now), over);
    }
  }

  #release(): void {
    const session = this.#session;
    if (!session.isOpen || !session.isHolding) return;
    session.isHolding = false;
    session.writeWaiting();
  }
}

function withinMsOf(frame: string): number | undefined {
  try {
    const { within_ms: ms } = JSON.parse(frame) as { readonly within_ms?: unknown };
    return Number.isSafeInteger(ms) ? Math.max(0, ms as number) : undefined;
  } catch {
    return undefined;
  }
}
