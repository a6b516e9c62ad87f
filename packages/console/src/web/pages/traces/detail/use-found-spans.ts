import { useQuery } from "@tanstack/react-query";
import { pagesOf } from "./read-spans.ts";

export interface FoundSpans {
  /** Undefined: nothing was looked for, or it is not known yet. */
  readonly ids: ReadonlySet<string> | undefined;
  readonly isSearching: boolean;
  readonly error: Error | null;
  readonly retry: () => void;
}

/** The spans that the engine finds by a text, in attributes too; again when the trace has grown. */
export function useFoundSpans(traceId: string, text: string, total: number): FoundSpans {
  const words = text.trim();
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["trace-text", traceId, words, total],
    enabled: words !== "",
    queryFn: async ({ signal }) => {
      const ids = new Set<string>();
      for await (const { spans } of pagesOf<{ readonly span_id: string }>({ traceId, detail: "ids", text: words }, signal))
        for (const { span_id } of spans) ids.add(span_id);
      return ids;
    },
  });
  return { ids: data, isSearching: isFetching && data === undefined, error, retry: () => void refetch() };
}
