import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useLiveState } from "../../lib/use-live.ts";
import type { ItemPage } from "./model.ts";
import { fetchEntry, fetchGroups, fetchItems } from "./state-api.ts";

/** State has no stream of its own: while the page is seen, what it shows is asked for again this often, in milliseconds. */
const EVERY_MS = 2_000;
/** For answers that are large. */
const SELDOM_MS = 15_000;
const LARGE = 512 * 1024;

/** How often to ask again: not while the engine is away, and seldom where the answer is large. */
function usePace(): (size: number) => number | false {
  const isLive = useLiveState().phase === "live";
  return (size) => isLive && (size > LARGE ? SELDOM_MS : EVERY_MS);
}

export function useGroups(prefix: string) {
  const pace = usePace();
  return useInfiniteQuery({
    queryKey: ["state-groups", prefix],
    queryFn: ({ pageParam, signal }) => fetchGroups(prefix, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
    refetchInterval: pace(0),
    refetchOnWindowFocus: "always",
    placeholderData: keepPreviousData,
  });
}

export interface ItemsAsked {
  readonly scope: string;
  readonly prefix: string;
  readonly cursor: string | undefined;
  readonly limit: number;
}

export function useItems(asked: ItemsAsked) {
  const pace = usePace();
  const { scope, prefix, cursor, limit } = asked;
  return useQuery({
    queryKey: ["state-items", scope, prefix, cursor, limit],
    queryFn: ({ signal }) => fetchItems(scope, asked, signal),
    refetchInterval: ({ state }) => pace(state.data?.size ?? 0),
    refetchOnWindowFocus: "always",
    // Another page of the same group replaces the old one when it is there; another group never shows this one's items.
    placeholderData: (before, query) => (query?.queryKey[1] === scope ? before : undefined),
  });
}

export function useEntry(scope: string, key: string) {
  const pace = usePace();
  return useQuery({
    queryKey: ["state-entry", scope, key],
    queryFn: ({ signal }) => fetchEntry(scope, key, signal),
    refetchInterval: ({ state }) => pace(state.data?.json.length ?? 0),
    refetchOnWindowFocus: "always",
  });
}

/** Asks again for everything that the page shows; resolves when it is there, so that an action ends with what came of it on the screen. */
export function useRefresh(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    await Promise.all(["state-groups", "state-items", "state-entry"].map((first) => client.invalidateQueries({ queryKey: [first] })));
  };
}

/** Keys whose item is new or another than in the answer before, of the same question. */
export function useChangedKeys(question: string, page: ItemPage | undefined): ReadonlySet<string> {
  const before = useRef<{ readonly question: string; readonly versions: ReadonlyMap<string, number> }>(undefined);
  const [changed, setChanged] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (page === undefined) return;
    const versions = new Map(page.items.map(({ key, version }) => [key, version]));
    const last = before.current;
    before.current = { question, versions };
    if (last?.question !== question) setChanged(new Set());
    else setChanged(new Set([...versions].filter(([key, version]) => last.versions.get(key) !== version).map(([key]) => key)));
  }, [question, page]);
  return changed;
}
