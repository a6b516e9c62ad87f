import { useQuery } from "@tanstack/react-query";
import { call } from "../../../lib/api.ts";
import type { LeanSpan, StoredSpan } from "../../../model/trace-types.ts";

/** All that is known of a span; null: it is kept no longer. Read again when what is drawn of it changes. */
export function useSpan(traceId: string, { span_id, end_time_unix_nano_text, status, events }: LeanSpan) {
  const { data, error, refetch } = useQuery({
    queryKey: ["span", traceId, span_id, end_time_unix_nano_text, status, events.length],
    queryFn: ({ signal }) => call<StoredSpan | null>("engine::traces::get_span", { trace_id: traceId, span_id }, { signal }),
    // The same span, a moment ago.
    placeholderData: (before) => (before?.span_id === span_id ? before : undefined),
  });
  return { span: data, error, retry: () => void refetch() };
}
