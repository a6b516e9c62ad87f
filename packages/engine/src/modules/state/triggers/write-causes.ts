import type { Clock } from "../../../kernel/clock.ts";
import type { WriteOrigin } from "../writes.ts";
import { deliveryIn, withDelivery } from "./delivery-baggage.ts";
import { type ChainLink, childTraceparent, type DeliveryOrigin, extendChain } from "./origin.ts";

/** Limits for remembering deliveries that have ended. A handler may go on writing after its delivery has ended. */
const MAX_REMEMBERED = 10_000;
const REMEMBER_MS = 10 * 60_000;

/** Cause of a write: the chain of deliveries that led to it. */
export interface Cause {
  readonly depth: number;
  readonly chain: readonly ChainLink[];
}

/** A running delivery. */
export interface TrackedDelivery {
  /** Trace context to pass to the function. */
  readonly traceparent: string;
  readonly baggage: string | undefined;
  /**
   * Sets the worker that runs it. `propagatesTrace`: the worker propagates the traceparent of a call to its own calls.
   */
  runsOn(workerId: string, propagatesTrace: boolean): void;
  end(): void;
}

interface Running extends Cause {
  readonly watcher: string;
  readonly item: string;
  readonly traceId: string;
}

/**
 * Tracks which writes a trigger delivery caused, to stop trigger loops. Each delivery has its own span in the trace of
 * the write that triggered it, and its baggage contains the id of this span. A write was caused by a delivery if the
 * write's trace context contains the delivery's span, or the write's baggage names this span. The trace id alone is not
 * enough, because a function may write many items in one trace without a loop. The span alone is not enough either: if
 * telemetry is recorded, every call has a span of its own.
 *
 * Some clients do not propagate the trace context. For them, a write counts as caused by a delivery if the worker that
 * runs the delivery made the write, and one of two conditions holds: the write is in the same trace; the write would
 * trigger the same watcher with the same item.
 */
export class WriteCauses {
  readonly #clock: Clock;
  /** Causes by `traceId-spanId`. The cause that was remembered first is first. */
  readonly #bySpan = new Map<string, Cause & { readonly endsAt: number }>();
  /** Running deliveries by worker, for workers that do not propagate the trace context. */
  readonly #byWorker = new Map<string, Set<Running>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * `recorded` is the traceparent of the delivery's recorded span. If nothing is recorded, it is the traceparent of the
   * write, or undefined.
   */
  begin(origin: DeliveryOrigin, watcher: string, item: string, link: ChainLink, recorded?: string): TrackedDelivery {
    const traceparent =
      recorded === undefined || recorded === origin.traceparent ? childTraceparent(origin.traceparent) : recorded;
    const cause: Cause = { depth: origin.depth + 1, chain: extendChain(origin.chain, link) };
    const span = spanOf(traceparent);
    this.#remember(span, cause);
    let leave = (): void => {};
    return {
      traceparent,
      baggage: withDelivery(origin.baggage, span),
      runsOn: (workerId, propagatesTrace) => {
        if (propagatesTrace) return;
        const running: Running = { ...cause, watcher, item, traceId: traceIdOf(traceparent) };
        const others = this.#byWorker.get(workerId) ?? new Set();
        this.#byWorker.set(workerId, others.add(running));
        leave = () => {
          others.delete(running);
          if (others.size === 0) this.#byWorker.delete(workerId);
        };
      },
      end: () => {
        // Remember the cause again, so that `REMEMBER_MS` begins now. The delivery may have run for a long time.
        this.#remember(span, cause);
        leave();
      },
    };
  }

  /** Returns the cause of a write to the item, or undefined if no delivery caused it. */
  causeOf(origin: WriteOrigin, item: string, watchers: readonly { readonly id: string }[]): Cause | undefined {
    const { traceparent, baggage, caller } = origin;
    const exact =
      this.#remembered(traceparent === undefined ? undefined : spanOf(traceparent)) ??
      this.#remembered(deliveryIn(baggage));
    if (exact !== undefined) return exact;
    const running = caller === undefined ? undefined : this.#byWorker.get(caller.worker_id);
    if (running === undefined) return undefined;
    const traceId = traceparent === undefined ? undefined : traceIdOf(traceparent);
    let deepest: Running | undefined;
    for (const delivery of running) {
      const isSame =
        delivery.traceId === traceId || (delivery.item === item && watchers.some(({ id }) => id === delivery.watcher));
      if (isSame && delivery.depth > (deepest?.depth ?? -1)) deepest = delivery;
    }
    return deepest;
  }

  #remembered(span: string | undefined): Cause | undefined {
    const cause = span === undefined ? undefined : this.#bySpan.get(span);
    return cause !== undefined && cause.endsAt > this.#clock.monotonic() ? cause : undefined;
  }

  #remember(span: string, cause: Cause): void {
    const now = this.#clock.monotonic();
    this.#bySpan.delete(span);
    this.#bySpan.set(span, { ...cause, endsAt: now + REMEMBER_MS });
    for (const [oldest, { endsAt }] of this.#bySpan) {
      if (this.#bySpan.size <= MAX_REMEMBERED && endsAt > now) break;
      this.#bySpan.delete(oldest);
    }
  }
}

function spanOf(traceparent: string): string {
  return traceparent.slice(3, 52);
}

function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}
