import { useSyncExternalStore } from "react";
import { live } from "../../lib/live-connection.ts";

/** What the engine measures each 5 s, as `svc.metrics` tells. Null: not known then. */
export interface MetricSample {
  readonly at_ms: number;
  readonly calls_per_second: number;
  readonly errors_per_second: number;
  readonly p95_ms: number | null;
  readonly workers: number | null;
}

export interface MetricSamples {
  readonly samples: readonly MetricSample[];
  /** When one came last, by the page's clock. */
  readonly asOfMs: number | undefined;
}

/** 15 min of them. */
const MOST = 180;
const NONE: MetricSamples = { samples: [], asOfMs: undefined };

let shown: MetricSamples = NONE;
const listeners = new Set<() => void>();
let leave: (() => void) | undefined;

function show(next: MetricSamples): void {
  shown = next;
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  leave ??= live.subscribe("svc.metrics", "all", {
    onSync: (data) => show({ samples: (data as readonly MetricSample[]).slice(-MOST), asOfMs: Date.now() }),
    onEvent({ data }) {
      const { data: sample } = data as { readonly data: MetricSample };
      show({ samples: [...shown.samples, sample].slice(-MOST), asOfMs: Date.now() });
    },
  });
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    leave?.();
    leave = undefined;
    shown = NONE;
  };
}

export function useMetricSamples(): MetricSamples {
  return useSyncExternalStore(listen, () => shown);
}
