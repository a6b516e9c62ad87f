import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useLiveState } from "../../lib/use-live.ts";
import type { Entry, ItemPage } from "./model.ts";
import { fetchEntry, fetchGroups, fetchItems } from "./state-api.ts";

/** Polling interval, in milliseconds. The page polls, because the engine has no stream of state. */
const POLL_MS = 2_000;
/** Polling interval after a large response, in milliseconds. */
const POLL_LARGE_MS = 15_000;
/** Responses with more characters than this are large. */
const LARGE = 512 * 1024;

/**
 * Returns a function that returns the polling interval. Its argument is the size of the response. While the engine is
 * unreachable, there is no polling.
 */
function usePollInterval(): (size: number) => number | false {
  const isLive = useLiveState().phase === "live";
  return (size) => isLive && (size > LARGE ? POLL_LARGE_MS : POLL_MS);
}

export function useGroups(prefix: string) {
  const pollInterval = usePollInterval();
  return useInfiniteQuery({
    queryKey: ["state-groups", prefix],
    queryFn: ({ pageParam, signal }) => fetchGroups(prefix, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
    refetchInterval: pollInterval(0),
    refetchOnWindowFocus: "always",
    placeholderData: keepPreviousData,
  });
}

interface ItemsQuery {
  readonly scope: string;
  readonly prefix: string;
  readonly cursor: string | undefined;
  readonly limit: number;
}

export function useItems(items: ItemsQuery) {
  const pollInterval = usePollInterval();
  const { scope, prefix, cursor, limit } = items;
  return useQuery({
    queryKey: ["state-items", scope, prefix, cursor, limit],
    queryFn: ({ signal }) => fetchItems(scope, items, signal),
    refetchInterval: ({ state }) => pollInterval(state.data?.size ?? 0),
    refetchOnWindowFocus: "always",
    // Until the next page of a group is loaded, the previous page stays visible. It must not stay visible for another
    // group.
    placeholderData: (before, query) => (query?.queryKey[1] === scope ? before : undefined),
  });
}

export function useEntry(scope: string, key: string) {
  const pollInterval = usePollInterval();
  return useQuery({
    queryKey: ["state-entry", scope, key],
    queryFn: ({ signal }) => fetchEntry(scope, key, signal),
    refetchInterval: ({ state }) => pollInterval(state.data?.json.length ?? 0),
    refetchOnWindowFocus: "always",
  });
}

/** Returns a function that fetches the entry without any cache. `useEntry` returns this entry from then on. */
export function useRefetchEntry(scope: string, key: string): () => Promise<Entry | null> {
  const client = useQueryClient();
  return async () => {
    const queryKey = ["state-entry", scope, key];
    // A poll that began before the change is cancelled, because it would return the old entry.
    await client.cancelQueries({ queryKey });
    return client.fetchQuery({ queryKey, queryFn: ({ signal }) => fetchEntry(scope, key, signal), staleTime: 0 });
  };
}

/**
 * Returns a function that fetches all data of the page again. It resolves when the data is loaded, so that an action
 * ends only when its result is visible.
 */
export function useRefresh(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    await Promise.all(
      ["state-groups", "state-items", "state-entry"].map((first) => client.invalidateQueries({ queryKey: [first] })),
    );
  };
}

/** Returns the keys of the items that are new or were changed since the previous response to the same query. */
export function useChangedKeys(query: string, page: ItemPage | undefined): ReadonlySet<string> {
  const before = useRef<{ readonly query: string; readonly versions: ReadonlyMap<string, number> }>(undefined);
  const [changed, setChanged] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (page === undefined) return;
    const versions = new Map(page.items.map(({ key, version }) => [key, version]));
    const last = before.current;
    before.current = { query, versions };
    if (last?.query !== query) setChanged(new Set());
    else
      setChanged(
        new Set([...versions].filter(([key, version]) => last.versions.get(key) !== version).map(([key]) => key)),
      );
  }, [query, page]);
  return changed;
}
