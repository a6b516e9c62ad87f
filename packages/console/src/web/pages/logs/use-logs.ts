import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { call } from "../../lib/api.ts";
import { useLiveState } from "../../lib/use-live.ts";
import type { Log } from "./log.ts";
import { LogSession, type SessionState } from "./log-session.ts";
import { type LogQuery, windowMembers } from "./use-log-query.ts";

/** The session of the query: another query or another engine begins anew. */
export function useLogSession(query: LogQuery, epoch: number): { readonly session: LogSession; readonly state: SessionState } {
  const { generation } = useLiveState();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says when the query is another one; the rest begins it anew
  const session = useMemo(() => new LogSession(query), [query.key, generation, epoch]);
  useEffect(() => session.start(), [session]);
  return { session, state: useSyncExternalStore(session.listen, session.getState) };
}

/** The entries to show, newest first, at most once a frame. `upTo`: none that is newer. */
export function useLogRows(session: LogSession, upTo: Pick<Log, "timestamp_ms" | "id"> | undefined): readonly Log[] {
  const [frame, setFrame] = useState(0);
  useEffect(() => {
    let asked = 0;
    const stop = session.buffer.listen(() => {
      if (asked !== 0) return;
      asked = requestAnimationFrame(() => {
        asked = 0;
        setFrame((before) => before + 1);
      });
    });
    setFrame((before) => before + 1);
    return () => {
      cancelAnimationFrame(asked);
      stop();
    };
  }, [session]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each frame the buffer may hold more
  return useMemo(() => session.buffer.view(upTo), [session, upTo, frame]);
}

export interface Bucket {
  readonly start_ms: number;
  readonly end_ms: number;
  readonly counts: Readonly<Record<string, number>>;
}
export interface FacetCount {
  readonly value: string;
  readonly count: number;
}
export type FacetName = "level" | "service" | "function_id" | "worker";

const REFRESH_MS = 5_000;

/** Counts over the whole match, not only over what is loaded; asked for anew every 5 s while new entries may come. */
export function useLogCounts(query: LogQuery, isPaused: boolean, epoch: number) {
  const { phase, generation } = useLiveState();
  const refetchInterval = phase === "live" && query.isOpen && !isPaused ? REFRESH_MS : (false as const);
  const ask = <Result>(functionId: string, more: object, signal: AbortSignal): Promise<Result> =>
    call<Result>(functionId, { ...query.filter, ...windowMembers(query.window(Date.now())), ...more }, { signal });
  const facets = useQuery({
    queryKey: ["logs", "facets", query.key, generation, epoch],
    queryFn: ({ signal }) =>
      ask<{ readonly facets: Readonly<Partial<Record<FacetName, readonly FacetCount[]>>>; readonly total: number }>("engine::logs::facets", {}, signal),
    refetchInterval,
    placeholderData: (before) => before,
  });
  const histogram = useQuery({
    queryKey: ["logs", "histogram", query.key, generation, epoch],
    queryFn: ({ signal }) => ask<{ readonly buckets: readonly Bucket[]; readonly total: number }>("engine::logs::histogram", { buckets: 80 }, signal),
    refetchInterval,
    placeholderData: (before) => before,
  });
  return { facets, histogram };
}
