import type { Clock } from "../clock.ts";
import type { OwnRegistrations } from "../registration/own-registrations.ts";
import { within } from "../shutdown.ts";
import type { Connection } from "./connection.ts";
import type { Session } from "./session.ts";

/**
 * Maximum time for which new calls wait until the calls in flight have ended, in milliseconds. It applies to the first
 * attempt to leave. For each further attempt it doubles.
 */
const FIRST_HOLD_MS = 500;
/** Upper limit for that time. It is short, so that few deadlines pass and few calls wait. */
const MAX_HOLD_MS = 2_000;
/** Interval at which the deadlines of the calls in flight are checked, in milliseconds. */
const LOOK_EVERY_MS = 10;
/**
 * Minimum time between two moves away from an engine that is cut off from its cluster, in milliseconds. The next engine
 * may be cut off too.
 */
const LEAVE_AGAIN_MS = 300_000;
/**
 * An engine sends `draining` every second while it wants the worker to leave. After a pause of this length, in
 * milliseconds, a message means that the engine is cut off again.
 */
const PAUSE_MS = 10_000;
const DRAINING = '{"type":"draining"';

/**
 * Moves to the next engine when the current one sends `draining`. It is not used in pages, because they would have to
 * load this code at the start, and because the engine closes their connections when they are idle.
 */
export class LeaveEngine {
  readonly #session: Session;
  readonly #connection: Connection;
  readonly #handlers: Pick<OwnRegistrations, "callEnds">;
  readonly #knowsOthers: boolean;
  readonly #clock: Clock;
  #holdMs = FIRST_HOLD_MS;
  /**
   * If calls waited but the worker could not leave, no calls wait until this time (monotonic clock). So calls wait for
   * at most half of the time.
   */
  #holdAgainAt = Number.NEGATIVE_INFINITY;
  /** Time (monotonic clock) at which an engine that is cut off is left, even if calls are in flight. */
  #leaveAt = Number.NEGATIVE_INFINITY;
  #isStopped = false;
  /** Time (monotonic clock) at which the worker last left an engine that was cut off. */
  #leftCutOffAt = Number.NEGATIVE_INFINITY;

  /** `others` returns the addresses of other engines. */
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

  /** Returns true if the frame is a `draining` message. All other frames belong to the session. */
  takes(frame: string): boolean {
    if (!frame.startsWith(DRAINING)) return false;
    void this.#leave(withinMsOf(frame));
    return true;
  }

  /** Called when the worker shuts down. It stays at this engine, and calls no longer wait. */
  stop(): void {
    this.#isStopped = true;
    this.#release();
  }

  /**
   * Leaves the engine when no call is in flight. An engine that is cut off is left after `withinMs` in any case. If the
   * worker cannot leave now, the engine sends `draining` again.
   */
  async #leave(withinMs: number | undefined): Promise<void> {
    const session = this.#session;
    if (this.#isStopped || !this.#knowsOthers || !session.isOpen || session.isHolding) return;
    const now = this.#clock.monotonicMs();
    if (withinMs !== undefined) {
      if (now - this.#leftCutOffAt < LEAVE_AGAIN_MS) return;
      if (now - this.#leaveAt > PAUSE_MS) this.#leaveAt = now + withinMs;
    }
    const leftMs = withinMs === undefined ? Number.POSITIVE_INFINITY : Math.max(0, this.#leaveAt - now);
    // While handlers run, new calls must not wait, because the handlers may need them.
    if (leftMs > 0 && (now < this.#holdAgainAt || this.#handlers.callEnds().length > 0)) return;
    session.isHolding = true;
    const areCallsOver = await this.#areCallsOver(Math.min(this.#holdMs, leftMs));
    // If the session is no longer holding calls, the connection was lost meanwhile.
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
   * Returns true if all calls in flight have ended. Waits for at most `holdMs`, and at most for half of the time that
   * any of these calls has left.
   */
  async #areCallsOver(holdMs: number): Promise<boolean> {
    const session = this.#session;
    let areOver = false;
    // All these calls were sent, because no call waits while the connection is open.
    const over = Promise.all(session.callEnds()).then(() => {
      areOver = true;
    });
    let endsAt = this.#clock.monotonicMs() + holdMs;
    for (;;) {
      const now = this.#clock.monotonicMs();
      const leftMs = session.nextDeadlineMs - now;
      // Calls whose deadline has passed are about to end, so they are not considered.
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
