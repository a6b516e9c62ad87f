import type { StoredSpan } from "../trace-types.ts";

const BASE_NANO = 1_790_000_000_000_000_000n;

/** Creates a span for tests. Times are milliseconds since the start of the trace; `end` is null for a pending span. */
export function span(
  id: string,
  parent: string | null,
  start: number,
  end: number | null,
  more: Partial<StoredSpan> = {},
): StoredSpan {
  const nano = (ms: number): string => (BASE_NANO + BigInt(Math.round(ms * 1e6))).toString();
  return {
    ...{
      trace_id: "t",
      span_id: id,
      parent_span_id: parent,
      name: id,
      kind: "internal",
      internal: false,
      service_name: "svc",
      worker_id: null,
    },
    ...{
      start_time_unix_nano_text: nano(start),
      end_time_unix_nano_text: end === null ? null : nano(end),
      start_time_ms: 1_790_000_000_000 + start,
    },
    ...{
      duration_ms: end === null ? null : end - start,
      status: "unset",
      attributes: [],
      events: [],
      links: [],
      baggage: {},
      resource: {},
    },
    ...more,
  };
}
