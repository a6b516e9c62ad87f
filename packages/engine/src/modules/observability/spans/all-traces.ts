import type { SpanReader, TraceRow } from "./span-store.ts";
import type { TraceFilters, TraceListRequest, TracePosition } from "./trace-query.ts";

const PAGE = 1_000;
const PAGE_WITH_SPANS = 100;

/** Every trace that matches, the newest first, page by page. */
export async function* allTraces(store: SpanReader, filters: TraceFilters, spans: TraceListRequest["spans"]): AsyncGenerator<TraceRow> {
  const limit = spans === "none" ? PAGE : PAGE_WITH_SPANS;
  let after: TracePosition | undefined;
  do {
    const page = await store.list({ filters, sortBy: "start_time", descending: true, after, offset: 0, limit, spans });
    yield* page.rows;
    after = page.next;
  } while (after !== undefined);
}
