import { useEffect, useMemo, useSyncExternalStore } from "react";
import { live } from "../../lib/live-connection.ts";
import { useLiveCollection } from "../../lib/use-live.ts";

/** What there is, the engine's own things left out: as many as the lists show. */
export interface Counters {
  /** Undefined: not known (yet). */
  readonly functions: number | undefined;
  readonly triggers: number;
  readonly workers: number;
  readonly streams: number;
}
export type CounterName = keyof Counters;

const SAMPLE_MS = 5_000;
/** 15 min of them. */
const MOST = 180;

// The engine keeps no past of these counters: the page samples them itself from when the Dashboard was first open.
let samples: readonly Counters[] = [];
let latest: Counters | undefined;
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function sample(): void {
  if (latest === undefined || live.getState().phase !== "live") return;
  samples = [...samples, latest].slice(-MOST);
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(sample, SAMPLE_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
    // What was not looked at has no samples: a line over the gap would tell of a time that nobody saw.
    samples = [];
    latest = undefined;
  };
}

export interface CountersNow {
  /** Undefined before the first answer. */
  readonly counters: Counters | undefined;
  readonly samples: readonly Counters[];
  readonly asOfMs: number | undefined;
  readonly refusal: string | null;
}

/** `functions`: how many workers provide; the engine's own count has those of its modules in it. */
export function useCounters(functions: number | undefined): CountersNow {
  const { items, asOfMs, status, reason } = useLiveCollection<Counters & { readonly id: string }>("svc.counters", ({ id }) => id);
  const past = useSyncExternalStore(listen, () => samples);
  const counted = items[0];
  const counters = useMemo(() => (counted === undefined ? undefined : { ...counted, functions }), [counted, functions]);
  useEffect(() => {
    latest = counters;
  }, [counters]);
  return { counters, samples: past, asOfMs, refusal: status === "refused" ? reason : null };
}
