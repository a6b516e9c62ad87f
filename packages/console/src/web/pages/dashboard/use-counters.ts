import { useEffect, useMemo, useSyncExternalStore } from "react";
import { live } from "../../lib/live-connection.ts";
import { useLiveCollection } from "../../lib/use-live.ts";

/** Numbers of functions, triggers, workers and streams without the engine's own, as in the lists of their pages. */
export interface Counters {
  /** Undefined while it is loading. */
  readonly functions: number | undefined;
  readonly triggers: number;
  readonly workers: number;
  readonly streams: number;
}
export type CounterName = keyof Counters;

const SAMPLE_MS = 5_000;
/** 15 minutes of samples. */
const MAX_SAMPLES = 180;

// The engine stores no history of these counters, so the page samples them while the Dashboard is open.
let samples: readonly Counters[] = [];
let latest: Counters | undefined;
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function sample(): void {
  if (latest === undefined || live.getState().phase !== "live") return;
  samples = [...samples, latest].slice(-MAX_SAMPLES);
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
    // Sampling stops here. A line across the gap would show values that were never measured.
    samples = [];
    latest = undefined;
  };
}

export interface CountersNow {
  /** Undefined before the first update. */
  readonly counters: Counters | undefined;
  readonly samples: readonly Counters[];
  readonly asOfMs: number | undefined;
  readonly refusal: string | null;
}

/** `functions`: number of functions that workers provide. The engine's own counter includes those of its modules. */
export function useCounters(functions: number | undefined): CountersNow {
  const { items, asOfMs, status, reason } = useLiveCollection<Counters & { readonly id: string }>(
    "svc.counters",
    ({ id }) => id,
  );
  const history = useSyncExternalStore(listen, () => samples);
  const counted = items[0];
  const counters = useMemo(() => (counted === undefined ? undefined : { ...counted, functions }), [counted, functions]);
  useEffect(() => {
    latest = counters;
  }, [counters]);
  return { counters, samples: history, asOfMs, refusal: status === "refused" ? reason : null };
}
