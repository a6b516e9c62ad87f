import type { Active, AsyncContext } from "../calls/async-context.ts";
import { RateLimiter } from "../calls/rate-limiter.ts";
import type { Clock } from "../clock.ts";
import { OwnSpan } from "./own-span.ts";
import type { Span, SpanOptions } from "./span.ts";
import type { SpanRecord } from "./span-record.ts";

/**
 * Maximum number of recorded spans per second in calls that are not sampled. The engine buffers these spans and stores
 * only those of failed or slow traces, so recording them must stay cheap.
 */
export const MAX_UNSAMPLED_PER_SECOND = 100;

/** Runs code as spans. */
export class Spans {
  readonly #asyncContext: AsyncContext;
  readonly #clock: Clock;
  readonly #record: ((span: SpanRecord) => void) | undefined;
  readonly #unsampled = new RateLimiter(MAX_UNSAMPLED_PER_SECOND);

  /** `record` is called for each span that has ended. If it is undefined, spans only pass the trace context on. */
  constructor(asyncContext: AsyncContext, clock: Clock, record: ((span: SpanRecord) => void) | undefined) {
    this.#asyncContext = asyncContext;
    this.#clock = clock;
    this.#record = record;
  }

  /** Runs `body` as a child span of `parent`. */
  run<Result>(name: string, body: (span: Span) => Result, options: SpanOptions, parent: Active | undefined): Result {
    const isWanted = (sampled: boolean): boolean =>
      this.#record !== undefined && (sampled || this.#unsampled.take(this.#clock.monotonicMs()));
    const headers = this.#asyncContext.headers(parent);
    const span = new OwnSpan(name, options, headers, parent?.activeCall, isWanted);
    let result: Result;
    try {
      result = this.#asyncContext.run(span, body, span);
    } catch (thrown) {
      this.#ended(span, { thrown });
      throw thrown;
    }
    if (!(result instanceof Promise)) {
      this.#ended(span);
      return result;
    }
    return result.then(
      (value: unknown) => {
        this.#ended(span);
        return value;
      },
      (thrown: unknown) => {
        this.#ended(span, { thrown });
        throw thrown;
      },
    ) as Result;
  }

  #ended(span: OwnSpan, failure?: { readonly thrown: unknown }): void {
    if (span.isRecorded) this.#record?.(span.ended(failure));
  }
}
