import { useQuery } from "@tanstack/react-query";
import { spanPages } from "./read-spans.ts";

interface FoundSpans {
  /** Ids of the found spans. Undefined if there is no search text, and while the search runs. */
  readonly ids: ReadonlySet<string> | undefined;
  readonly isSearching: boolean;
  readonly error: Error | null;
  readonly retry: () => void;
}

/** Searches the spans of a trace in the engine, which also searches attributes. Searches again when `total` changes. */
export function useFoundSpans(traceId: string, text: string, total: number): FoundSpans {
  const words = text.trim();
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["trace-text", traceId, words, total],
    enabled: words !== "",
    queryFn: async ({ signal }) => {
      const ids = new Set<string>();
      for await (const { spans } of spanPages<{ readonly span_id: string }>(
        { traceId, detail: "ids", text: words },
        signal,
      ))
        for (const { span_id } of spans) ids.add(span_id);
      return ids;
    },
  });
  return { ids: data, isSearching: isFetching && data === undefined, error, retry: () => void refetch() };
}
