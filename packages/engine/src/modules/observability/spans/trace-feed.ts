import type { Clock } from "../../../kernel/clock.ts";
import { schemaOf } from "../../../kernel/lazy-schema.ts";
import type { Logger } from "../../../kernel/logger.ts";
import type { SpanRecord } from "../model.ts";
import type { SpanStore, TraceRow } from "./span-store.ts";
import { traceFiltersSchema } from "./trace-query.ts";

/** Traces that are looked up and told at once; of further ones nobody is told. */
const MAX_CHANGED = 1_000;

/** Tells which traces have changed, so many milliseconds after the first change. Costs nothing while nobody asks. */
export class TraceFeed {
  readonly #store: SpanStore;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #delayMs: number;
  readonly #tell: (rows: readonly TraceRow[]) => void;
  #changed = new Set<string>();
  #cancel: (() => void) | undefined;
  #isAsked = false;
  #isLooking = false;

  constructor(parts: {
    readonly store: SpanStore;
    readonly clock: Clock;
    readonly log: Logger;
    readonly delayMs: number;
    readonly tell: (rows: readonly TraceRow[]) => void;
  }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#delayMs = parts.delayMs;
    this.#tell = parts.tell;
  }

  /** Whether anybody wants to know. */
  ask(wanted: boolean): void {
    this.#isAsked = wanted;
    if (!wanted) this.stop();
  }

  /** On the hot path. */
  changed(span: SpanRecord): void {
    if (!this.#isAsked || this.#changed.size >= MAX_CHANGED) return;
    this.#changed.add(span.traceId);
    this.#schedule();
  }

  stop(): void {
    this.#changed.clear();
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(): void {
    if (this.#isLooking) return;
    this.#cancel ??= this.#clock.after(this.#delayMs, () => {
      this.#cancel = undefined;
      this.#look().catch((error: unknown) => this.#log.warn("traces that changed could not be looked up", { error }));
    });
  }

  async #look(): Promise<void> {
    const traceIds = [...this.#changed];
    this.#changed = new Set();
    this.#isLooking = true;
    try {
      const filters = schemaOf(traceFiltersSchema).parse({ trace_ids: traceIds });
      const request = { filters, sortBy: "start_time", descending: false, after: undefined, offset: 0, limit: MAX_CHANGED, spans: "none" } as const;
      const { rows } = await this.#store.list(request);
      if (this.#isAsked && rows.length > 0) this.#tell(rows);
    } finally {
      this.#isLooking = false;
      if (this.#changed.size > 0) this.#schedule();
    }
  }
}
