import { type Clock, type Logger, schemaOf } from "@svc-runtime/engine/module";
import type { SpanRecord } from "../telemetry-records.ts";
import type { SpanReader, TraceRow } from "./span-store.ts";
import { traceFiltersSchema } from "./trace-query.ts";

/** Maximum number of changed traces per lookup; further changes are not reported. */
const MAX_CHANGED = 1_000;

/** Reports which traces have changed, a fixed delay after the first change. Costs nothing while inactive. */
export class TraceFeed {
  readonly #reader: () => SpanReader;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #delayMs: number;
  readonly #onChange: (rows: readonly TraceRow[]) => void;
  #changed = new Set<string>();
  #cancel: (() => void) | undefined;
  #isActive = false;
  #isLookingUp = false;

  constructor(parts: {
    readonly reader: () => SpanReader;
    readonly clock: Clock;
    readonly log: Logger;
    readonly delayMs: number;
    readonly onChange: (rows: readonly TraceRow[]) => void;
  }) {
    this.#reader = parts.reader;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#delayMs = parts.delayMs;
    this.#onChange = parts.onChange;
  }

  setActive(wanted: boolean): void {
    this.#isActive = wanted;
    if (!wanted) this.stop();
  }

  /** On the hot path. */
  changed(span: SpanRecord): void {
    if (!this.#isActive || this.#changed.size >= MAX_CHANGED) return;
    this.#changed.add(span.traceId);
    this.#schedule();
  }

  stop(): void {
    this.#changed.clear();
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(): void {
    if (this.#isLookingUp) return;
    this.#cancel ??= this.#clock.after(this.#delayMs, () => {
      this.#cancel = undefined;
      this.#lookUp().catch((error: unknown) => this.#log.warn("changed traces could not be looked up", { error }));
    });
  }

  async #lookUp(): Promise<void> {
    const traceIds = [...this.#changed];
    this.#changed = new Set();
    this.#isLookingUp = true;
    try {
      const filters = schemaOf(traceFiltersSchema).parse({ trace_ids: traceIds });
      const request = {
        filters,
        sortBy: "start_time",
        descending: false,
        after: undefined,
        offset: 0,
        limit: MAX_CHANGED,
        spans: "none",
        isUncounted: true,
      } as const;
      const { rows } = await this.#reader().list(request);
      if (this.#isActive && rows.length > 0) this.#onChange(rows);
    } finally {
      this.#isLookingUp = false;
      if (this.#changed.size > 0) this.#schedule();
    }
  }
}
