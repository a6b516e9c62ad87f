import { ApiFailure, call } from "../../../lib/api.ts";
import type { StoredSpan } from "../../../model/trace-types.ts";

/** Spans of the first answer, so that something is there soon, and of further ones. */
const FIRST_PAGE = 1_000;
const PAGE = { full: 2_000, lean: 10_000, ids: 10_000 } as const;

interface SpansAsked {
  readonly traceId: string;
  readonly detail: keyof typeof PAGE;
  /** Only those with every word of it, attributes too. */
  readonly text?: string;
}

interface SpansPage<Span> {
  readonly spans: readonly Span[];
  readonly total: number;
  readonly cursor: string | null;
}

/** The spans of a trace, the first page a short one. */
export async function* pagesOf<Span>(asked: SpansAsked, signal?: AbortSignal): AsyncGenerator<SpansPage<Span>> {
  let cursor: string | null = null;
  let limit = FIRST_PAGE;
  do {
    const page: SpansPage<Span> & { readonly limit: number } = await pageOf<Span>(asked, cursor, limit, signal);
    yield page;
    cursor = page.cursor;
    // Spans with large attributes come in smaller pages.
    limit = page.limit < limit ? page.limit : PAGE[asked.detail];
  } while (cursor !== null);
}

/** A page; where its answer would be larger than the engine sends, a shorter one. */
async function pageOf<Span>(
  asked: SpansAsked,
  cursor: string | null,
  limit: number,
  signal: AbortSignal | undefined,
): Promise<SpansPage<Span> & { readonly limit: number }> {
  const { traceId, detail, text } = asked;
  try {
    const payload = { trace_id: traceId, detail, limit, ...(text === undefined ? {} : { text }), ...(cursor === null ? {} : { cursor }) };
    return { ...(await call<SpansPage<Span>>("engine::traces::spans", payload, signal === undefined ? {} : { signal })), limit };
  } catch (failure) {
    if (limit === 1 || !(failure instanceof ApiFailure) || failure.code !== "payload_too_large") throw failure;
    return pageOf(asked, cursor, Math.ceil(limit / 8), signal);
  }
}

/** Every span with all that is known of it: much, and only for what a person takes away. */
export async function wholeTrace(traceId: string): Promise<readonly StoredSpan[]> {
  const spans: StoredSpan[] = [];
  for await (const page of pagesOf<StoredSpan>({ traceId, detail: "full" })) spans.push(...page.spans);
  return spans;
}
