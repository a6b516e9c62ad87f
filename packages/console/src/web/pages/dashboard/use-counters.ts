import { useLiveCollection } from "../../lib/use-live.ts";

/**
 * Numbers of functions, triggers, workers and streams. The engine's own are not counted, as in the lists of the pages.
 */
export interface Counters {
  readonly functions: number;
  readonly triggers: number;
  readonly workers: number;
  readonly streams: number;
}
export type CounterName = keyof Counters;

export interface CountersNow {
  /** Undefined before the first update. */
  readonly counters: Counters | undefined;
  readonly asOfMs: number | undefined;
  readonly refusal: string | null;
}

export function useCounters(): CountersNow {
  const { items, asOfMs, status, reason } = useLiveCollection<Counters & { readonly id: string }>(
    "svc.counters",
    ({ id }) => id,
  );
  return { counters: items[0], asOfMs, refusal: status === "refused" ? reason : null };
}
