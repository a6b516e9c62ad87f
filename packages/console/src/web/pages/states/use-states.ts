import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useLiveState } from "../../lib/use-live.ts";
import type { Entry, ItemPage } from "./model.ts";
import { fetchEntry, fetchGroups, fetchItems } from "./state-api.ts";

/** Polling intervals, in milliseconds. The page polls, since the engine has no live stream of state. */
const POLL_MS = 2_000;
const POLL_LARGE_MS = 15_000;
/** Responses longer than this are polled less often, in characters. */
const LARGE = 512 * 1024;

/**
 * Returns a function from the response's size to the polling interval. There is no polling while the engine is
 * unreachable.
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
    // The previous page stays visible until the next page of the same group is loaded, but never under another group.
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

/** Returns a function that fetches the entry past all caches, so that `useEntry` returns it from then on. */
export function useRefetchEntry(scope: string, key: string): () => Promise<Entry | null> {
  const client = useQueryClient();
  return async () => {
    const queryKey = ["state-entry", scope, key];
    // A poll that began before the change must not bring the old entry back.
    await client.cancelQueries({ queryKey });
    return client.fetchQuery({ queryKey, queryFn: ({ signal }) => fetchEntry(scope, key, signal), staleTime: 0 });
  };
}

/**
 * Refetches everything that the page shows. Resolves when it is loaded, so that an action ends with its result visible.
 */
export function useRefresh(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    await Promise.all(
      ["state-groups", "state-items", "state-entry"].map((first) => client.invalidateQueries({ queryKey: [first] })),
    );
  };
}

/** Returns the keys whose items are new or changed since the previous response to the same query. */
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
