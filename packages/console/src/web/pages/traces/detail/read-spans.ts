import { ApiFailure, call } from "../../../lib/api.ts";
import type { MergedFrom, StoredSpan } from "../../../model/trace-types.ts";

/** Number of spans on the first page. It is small, so that the first spans appear quickly. */
const FIRST_PAGE = 1_000;
const PAGE = { full: 2_000, lean: 10_000, ids: 10_000 } as const;

interface SpansQuery {
  readonly traceId: string;
  readonly detail: keyof typeof PAGE;
  /** If it is set, only spans that contain each of its words are returned. Attributes are searched too. */
  readonly text?: string;
}

interface SpansPage<Span> extends MergedFrom {
  readonly spans: readonly Span[];
  readonly total: number;
  readonly cursor: string | null;
}

/** Yields the spans of a trace page by page. */
export async function* spanPages<Span>(query: SpansQuery, signal?: AbortSignal): AsyncGenerator<SpansPage<Span>> {
  let cursor: string | null = null;
  let limit = FIRST_PAGE;
  do {
    const page: SpansPage<Span> & { readonly limit: number } = await fetchPage<Span>(query, cursor, limit, signal);
    yield page;
    cursor = page.cursor;
    // If a page had to be smaller because of large attributes, all further pages are as small.
    limit = page.limit < limit ? page.limit : PAGE[query.detail];
  } while (cursor !== null);
}

/** Returns the number of spans of a trace. */
export async function countSpans(traceId: string, signal: AbortSignal): Promise<number> {
  const page = await fetchPage<string>({ traceId, detail: "ids" }, null, 1, signal);
  return page.total;
}

/** Fetches a page. If the response exceeds the engine's size limit, tries again with a smaller page. */
async function fetchPage<Span>(
  query: SpansQuery,
  cursor: string | null,
  limit: number,
  signal: AbortSignal | undefined,
): Promise<SpansPage<Span> & { readonly limit: number }> {
  const { traceId, detail, text } = query;
  try {
    const payload = {
      trace_id: traceId,
      detail,
      limit,
      ...(text === undefined ? {} : { text }),
      ...(cursor === null ? {} : { cursor }),
    };
    return {
      ...(await call<SpansPage<Span>>("engine::traces::spans", payload, signal === undefined ? {} : { signal })),
      limit,
    };
  } catch (failure) {
    if (limit === 1 || !(failure instanceof ApiFailure) || failure.code !== "payload_too_large") throw failure;
    return fetchPage(query, cursor, Math.ceil(limit / 8), signal);
  }
}

/** Fetches all spans with all their data. Because that is much data, it is only for copies and exports. */
export async function fetchWholeTrace(traceId: string): Promise<readonly StoredSpan[]> {
  const spans: StoredSpan[] = [];
  for await (const page of spanPages<StoredSpan>({ traceId, detail: "full" })) spans.push(...page.spans);
  return spans;
}
