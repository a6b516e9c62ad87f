import { type Clock, type Logger, schemaOf } from "@svc-runtime/engine/module";
import { ReportDelay } from "../report-delay.ts";
import type { SpanRecord } from "../telemetry-records.ts";
import type { SpanReader, TraceRow } from "./span-store.ts";
import { traceFiltersSchema } from "./trace-query.ts";

/** Maximum number of changed traces that one lookup reads. Changes of further traces are not reported. */
const MAX_CHANGED = 1_000;
/** A report of more traces than this is a large one. */
const LARGE = 10;

/**
 * Reports which traces have changed, a delay after the first change (see `ReportDelay`). While it is inactive, it costs
 * nothing.
 */
export class TraceFeed {
  readonly #reader: () => SpanReader;
  readonly #log: Logger;
  readonly #delay: ReportDelay;
  readonly #onChange: (rows: readonly TraceRow[]) => void;
  readonly #report = (): void => {
    this.#lookUp().catch((error: unknown) => this.#log.warn("changed traces could not be looked up", { error }));
  };
  #changed = new Set<string>();
  #isActive = false;
  #isLookingUp = false;

  constructor(parts: {
    readonly reader: () => SpanReader;
    readonly clock: Clock;
    readonly log: Logger;
    readonly delayMs: number;
    /** Delay after a large report, in milliseconds. Defaults to `delayMs`. */
    readonly busyDelayMs?: number;
    readonly onChange: (rows: readonly TraceRow[]) => void;
  }) {
    const { clock, delayMs, busyDelayMs = delayMs } = parts;
    this.#reader = parts.reader;
    this.#log = parts.log;
    this.#delay = new ReportDelay({ clock, delayMs, busyDelayMs, large: LARGE, full: MAX_CHANGED / 2 });
    this.#onChange = parts.onChange;
  }

  setActive(wanted: boolean): void {
    this.#isActive = wanted;
    if (!wanted) this.stop();
  }

  /** Notes a change of a trace. Called on the hot path. */
  changed(span: SpanRecord): void {
    if (!this.#isActive || this.#changed.size >= MAX_CHANGED) return;
    this.#changed.add(span.traceId);
    this.#schedule();
  }

  stop(): void {
    this.#changed.clear();
    this.#delay.cancel();
  }

  #schedule(): void {
    if (this.#isLookingUp) return;
    this.#delay.waiting(this.#changed.size, this.#report);
  }

  async #lookUp(): Promise<void> {
    const traceIds = [...this.#changed];
    this.#changed = new Set();
    this.#isLookingUp = true;
    this.#delay.reported(traceIds.length);
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
