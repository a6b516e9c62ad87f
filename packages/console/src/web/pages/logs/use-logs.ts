import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { call } from "../../lib/api.ts";
import { answerOf, type Timed, timed, untilNextPoll } from "../../lib/poll-delay.ts";
import { useLiveState } from "../../lib/use-live.ts";
import type { Log } from "./log.ts";
import { LogSession, type SessionState } from "./log-session.ts";
import { type LogQuery, windowMembers } from "./use-log-query.ts";

/** Returns the session for the query. A new session begins when the query, the engine or `epoch` changes. */
export function useLogSession(
  query: LogQuery,
  epoch: number,
): { readonly session: LogSession; readonly state: SessionState } {
  const { generation } = useLiveState();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key identifies the query; the others restart it
  const session = useMemo(() => new LogSession(query), [query.key, generation, epoch]);
  useEffect(() => session.start(), [session]);
  return { session, state: useSyncExternalStore(session.listen, session.getState) };
}

/**
 * Returns the entries, the newest first. They are updated at most once per frame. Entries that are newer than `upTo`
 * are left out.
 */
export function useLogRows(session: LogSession, upTo: Pick<Log, "timestamp_ms" | "id"> | undefined): readonly Log[] {
  const [frame, setFrame] = useState(0);
  useEffect(() => {
    let requested = 0;
    const stop = session.buffer.listen(() => {
      if (requested !== 0) return;
      requested = requestAnimationFrame(() => {
        requested = 0;
        setFrame((before) => before + 1);
      });
    });
    setFrame((before) => before + 1);
    return () => {
      cancelAnimationFrame(requested);
      stop();
    };
  }, [session]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the buffer changes between frames
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

/**
 * Returns the counts of all matching entries, including those that are not loaded. They are polled every 5 s while new
 * entries can match.
 */
export function useLogCounts(query: LogQuery, isPaused: boolean, epoch: number) {
  const { phase, generation } = useLiveState();
  const isPolled = phase === "live" && query.isOpen && !isPaused;
  const refetchInterval = ({ state }: { readonly state: { readonly data: Timed<unknown> | undefined } }) =>
    isPolled && untilNextPoll(state.data, REFRESH_MS);
  const fetchCounts = <Result>(functionId: string, more: object, signal: AbortSignal): Promise<Timed<Result>> =>
    timed(() =>
      call<Result>(functionId, { ...query.filter, ...windowMembers(query.window(Date.now())), ...more }, { signal }),
    );
  const facets = useQuery({
    queryKey: ["logs", "facets", query.key, generation, epoch],
    queryFn: ({ signal }) =>
      fetchCounts<{
        readonly facets: Readonly<Partial<Record<FacetName, readonly FacetCount[]>>>;
        readonly total: number;
      }>("engine::logs::facets", {}, signal),
    select: answerOf,
    refetchInterval,
    placeholderData: (before) => before,
  });
  const histogram = useQuery({
    queryKey: ["logs", "histogram", query.key, generation, epoch],
    queryFn: ({ signal }) =>
      fetchCounts<{ readonly buckets: readonly Bucket[]; readonly total: number }>(
        "engine::logs::histogram",
        { buckets: 80 },
        signal,
      ),
    select: answerOf,
    refetchInterval,
    placeholderData: (before) => before,
  });
  return { facets, histogram };
}
