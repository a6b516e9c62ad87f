import type { Database } from "@svc-runtime/engine/store";
import type { TraceFilters } from "../trace-query.ts";
import { factsWhere } from "./select-traces.ts";

/** Maximum number of traces that one request reads. It is limited, because other requests wait for the thread. */
const WINDOW = 10_000;

export interface TallyRequest {
  /** Filters that the facts of traces decide; see `isDecidedByFacts`. */
  readonly filters: TraceFilters;
  /** Number of the trace before which the window ends. If undefined, the window begins with the newest trace. */
  readonly before: number | undefined;
}

/** Counts of the matching traces in one window of all traces. */
export interface TallySlice {
  readonly combinations: readonly Combination[];
  /** Start times of all matching traces, in microseconds since 1970. */
  readonly startsUs: Float64Array;
  /** Start times of the matching traces with errors. */
  readonly failedStartsUs: Float64Array;
  /** Durations in microseconds, without those of pending traces. */
  readonly durationsUs: Float64Array;
  /** Value of `before` for the next window; undefined after the last one. */
  readonly next: number | undefined;
}

/** Number of traces with the same combination of values. `services` and `functions` are JSON texts. */
export interface Combination {
  readonly status: string;
  readonly services: string;
  readonly functions: string;
  readonly triggerType: string | null;
  count: number;
}

type Row = {
  readonly status: string;
  readonly services: string;
  readonly functions: string;
  readonly trigger_type: string | null;
  readonly start_us: number;
  readonly duration_us: number;
  readonly error_count: number;
};

/** Counts traces in the store's thread, so that only the counts are passed to the engine. */
export function traceTally(database: Database): (request: TallyRequest) => TallySlice {
  const lastOf = database.prepare<{ readonly no: number }>(
    `SELECT no FROM traces WHERE no < ? ORDER BY no DESC LIMIT 1 OFFSET ${WINDOW - 1}`,
  );
  return ({ filters, before = Number.MAX_SAFE_INTEGER }) => {
    const last = lastOf.get(before)?.no;
    const where = factsWhere(filters);
    const conditions = ["no < ?", "no >= ?", ...where.sql].join(" AND ");
    const rows = database
      .prepare<Row>(
        `SELECT status, services, functions, trigger_type, start_us, duration_us, error_count FROM traces WHERE ${conditions}`,
      )
      .all(before, last ?? 0, ...where.parameters);
    const combinations = new Map<string, Combination>();
    for (const { status, services, functions, trigger_type: triggerType } of rows) {
      const key = JSON.stringify([status, services, functions, triggerType]);
      const known = combinations.get(key);
      if (known === undefined) combinations.set(key, { status, services, functions, triggerType, count: 1 });
      else known.count += 1;
    }
    const failed = rows.filter(({ error_count }) => error_count > 0);
    const ended = rows.filter(({ duration_us }) => duration_us >= 0);
    return {
      combinations: [...combinations.values()],
      startsUs: Float64Array.from(rows, ({ start_us }) => start_us),
      failedStartsUs: Float64Array.from(failed, ({ start_us }) => start_us),
      durationsUs: Float64Array.from(ended, ({ duration_us }) => duration_us),
      next: last,
    };
  };
}
