import { systemClock } from "../clock.ts";
import type { OwnRegistrations } from "../registration/own-registrations.ts";
import { within } from "../shutdown.ts";
import type { Connection } from "./connection.ts";
import type { Session } from "./session.ts";

/** Maximum time for which new calls wait for those in flight before the worker leaves an engine that is drained. */
const LEAVE_TIMEOUT_MS = 500;
/** An engine that is cut off from its cluster is left once in this time: the next one may be cut off, too. */
const LEAVE_AGAIN_MS = 300_000;
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
  /** When the worker left an engine that was cut off, on the monotonic clock. */
  #leftCutOffAt = Number.NEGATIVE_INFINITY;

  /** `others`: addresses of other engines. */
  constructor(
    session: Session,
    connection: Connection,
    handlers: Pick<OwnRegistrations, "callEnds">,
    others: readonly string[],
  ) {
    this.#session = session;
    this.#connection = connection;
    this.#handlers = handlers;
    this.#knowsOthers = others.length > 0;
  }

  /** Returns whether the frame is `draining`. All others are the session's. */
  takes(frame: string): boolean {
    if (!frame.startsWith(DRAINING)) return false;
    void this.#leave(withinMsOf(frame));
    return true;
  }

  /** Leaves when no call is in flight, or within a time. */
  async #leave(withinMs: number | undefined): Promise<void> {
    const session = this.#session;
    const connection = this.#connection;
    if (!this.#knowsOthers || !session.isOpen || session.isHolding) return;
    // Running handlers may need calls of their own. The engine gives this worker no new ones, and asks again.
    if (withinMs === undefined && this.#handlers.callEnds().length > 0) return;
    if (withinMs !== undefined) {
      if (systemClock.monotonicMs() - this.#leftCutOffAt < LEAVE_AGAIN_MS) return;
      this.#leftCutOffAt = systemClock.monotonicMs();
    }
    session.isHolding = true;
    // All of them were sent: none waits on an open connection.
    let areCallsOver = false;
    const ends = [...session.callEnds(), ...this.#handlers.callEnds()];
    const over = Promise.all(ends).then(() => {
      areCallsOver = true;
    });
    await within(systemClock, withinMs ?? LEAVE_TIMEOUT_MS, over);
    // Else the connection was lost meanwhile.
    if (!session.isOpen || !session.isHolding) return;
    if (withinMs !== undefined || (areCallsOver && this.#handlers.callEnds().length === 0)) {
      connection.leave();
    } else {
      session.isHolding = false;
      session.writeWaiting();
    }
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
