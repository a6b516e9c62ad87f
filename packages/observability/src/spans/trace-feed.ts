import { type Clock, type Logger, schemaOf } from "@svc-runtime/engine/module";
import type { SpanRecord } from "../telemetry-records.ts";
import type { SpanReader, TraceRow } from "./span-store.ts";
import { traceFiltersSchema } from "./trace-query.ts";

/** Maximum number of changed traces per lookup; further changes are not reported. */
const MAX_CHANGED = 1_000;
/** A report of more traces is a large one. */
const FEW = 10;
/** With this number of changed traces, the next report is not put off any longer. */
const MANY = MAX_CHANGED / 2;

/**
 * Reports which traces have changed, a fixed delay after the first change. After a large report, the next one may come
 * later, so that many changes cost few reports. Costs nothing while inactive.
 */
export class TraceFeed {
  readonly #reader: () => SpanReader;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #delayMs: number;
  readonly #busyDelayMs: number;
  readonly #onChange: (rows: readonly TraceRow[]) => void;
  #changed = new Set<string>();
  #cancel: (() => void) | undefined;
  #isActive = false;
  #isLookingUp = false;
  #isBusy = false;

  constructor(parts: {
    readonly reader: () => SpanReader;
    readonly clock: Clock;
    readonly log: Logger;
    readonly delayMs: number;
    /** Delay after a large report. Default: `delayMs`. */
    readonly busyDelayMs?: number;
    readonly onChange: (rows: readonly TraceRow[]) => void;
  }) {
    this.#reader = parts.reader;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#delayMs = parts.delayMs;
    this.#busyDelayMs = parts.busyDelayMs ?? parts.delayMs;
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
    if (this.#isBusy && this.#changed.size === MANY) this.#hurry();
    this.#schedule();
  }

  stop(): void {
    this.#changed.clear();
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /** Puts the next report off no longer than the one after a small report. */
  #hurry(): void {
    this.#isBusy = false;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(): void {
    if (this.#isLookingUp) return;
    this.#cancel ??= this.#clock.after(this.#isBusy ? this.#busyDelayMs : this.#delayMs, () => {
      this.#cancel = undefined;
      this.#lookUp().catch((error: unknown) => this.#log.warn("changed traces could not be looked up", { error }));
    });
  }

  async #lookUp(): Promise<void> {
    const traceIds = [...this.#changed];
    this.#changed = new Set();
    this.#isLookingUp = true;
    this.#isBusy = traceIds.length > FEW;
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
