import type { Clock } from "../../../kernel/clock.ts";
import type { WriteOrigin } from "../change-listener.ts";
import { firingIn, withFiring } from "./firing-baggage.ts";
import { type ChainLink, childTraceparent, type DeliveryOrigin, extendChain } from "./origin.ts";

/** Firings that are remembered after they ended: what a handler does later still belongs to it. */
const MAX_REMEMBERED = 10_000;
const REMEMBER_MS = 10 * 60_000;

/** What a firing leaves with the writes that it causes. */
export interface Cause {
  readonly depth: number;
  readonly chain: readonly ChainLink[];
}

/** One delivery on its way through the bound function. */
export interface Firing {
  /** To be passed on to the function, both. */
  readonly traceparent: string;
  readonly baggage: string | undefined;
  /** The worker runs it. `tellsTraces`: it hands the traceparent of a call on to the calls that it makes meanwhile. */
  runsOn(workerId: string, tellsTraces: boolean): void;
  end(): void;
}

interface Running extends Cause {
  readonly watcher: string;
  readonly item: string;
  readonly traceId: string;
}

/**
 * Which writes were caused by which firing. Each firing has a span of its own in the trace of the write that it tells of, and its name in the baggage: whoever
 * passes them on is known by them, and nobody else is: a function that writes a hundred items in one trace has caused nothing yet. The baggage is what tells it
 * while telemetry is recorded, since every call on the way has a span of its own then.
 *
 * A client that does not pass them on is known by its worker: what the worker writes while it runs a firing counts as caused by it when the write is in the
 * same trace, or would fire the same watcher by the same item.
 */
export class Firings {
  readonly #clock: Clock;
  /** By `traceId-spanId`, in the order of their beginning. */
  readonly #bySpan = new Map<string, Cause & { readonly endsAt: number }>();
  /** Of workers that do not tell traces. */
  readonly #byWorker = new Map<string, Set<Running>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `recorded`: the traceparent of the span that is recorded of it; that of the write, or none, when nobody records. */
  begin(origin: DeliveryOrigin, watcher: string, item: string, link: ChainLink, recorded?: string): Firing {
    const traceparent = recorded === undefined || recorded === origin.traceparent ? childTraceparent(origin.traceparent) : recorded;
    const cause: Cause = { depth: origin.depth + 1, chain: extendChain(origin.chain, link) };
    const span = spanOf(traceparent);
    this.#remember(span, cause);
    let leave = (): void => {};
    return {
      traceparent,
      baggage: withFiring(origin.baggage, span),
      runsOn: (workerId, tellsTraces) => {
        if (tellsTraces) return;
        const running: Running = { ...cause, watcher, item, traceId: traceIdOf(traceparent) };
        const others = this.#byWorker.get(workerId) ?? new Set();
        this.#byWorker.set(workerId, others.add(running));
        leave = () => {
          others.delete(running);
          if (others.size === 0) this.#byWorker.delete(workerId);
        };
      },
      end: () => {
        // It may have run for long; what it does afterwards is remembered from now on.
        this.#remember(span, cause);
        leave();
      },
    };
  }

  /** What caused a write of the item; undefined when no firing did. */
  causeOf(origin: WriteOrigin, item: string, watchers: readonly { readonly id: string }[]): Cause | undefined {
    const { traceparent, baggage, caller } = origin;
    const exact = this.#remembered(traceparent === undefined ? undefined : spanOf(traceparent)) ?? this.#remembered(firingIn(baggage));
    if (exact !== undefined) return exact;
    const running = caller === undefined ? undefined : this.#byWorker.get(caller.worker_id);
    if (running === undefined) return undefined;
    const traceId = traceparent === undefined ? undefined : traceIdOf(traceparent);
    let deepest: Running | undefined;
    for (const firing of running) {
      const isSame = firing.traceId === traceId || (firing.item === item && watchers.some(({ id }) => id === firing.watcher));
      if (isSame && firing.depth > (deepest?.depth ?? -1)) deepest = firing;
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
