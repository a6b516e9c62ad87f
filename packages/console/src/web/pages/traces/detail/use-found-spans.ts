import { useQuery } from "@tanstack/react-query";
import { spanPages } from "./read-spans.ts";

interface FoundSpans {
  /** Undefined if there is no search text, or while searching. */
  readonly ids: ReadonlySet<string> | undefined;
  readonly isSearching: boolean;
  readonly error: Error | null;
  readonly retry: () => void;
}

/** Searches the spans in the engine, also in attributes. Searches again when `total` changes. */
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
