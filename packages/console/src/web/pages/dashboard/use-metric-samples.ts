import { useSyncExternalStore } from "react";
import { live } from "../../lib/live-connection.ts";

/** A sample of the stream `svc.metrics`. There is one every 5 s. Null values were not measured. */
export interface MetricSample {
  readonly at_ms: number;
  readonly calls_per_second: number;
  readonly errors_per_second: number;
  readonly p95_ms: number | null;
  readonly functions: number | null;
  readonly triggers: number | null;
  readonly workers: number | null;
  readonly streams: number | null;
}

export interface MetricSamples {
  readonly samples: readonly MetricSample[];
  /** Time at which the last sample arrived, on the browser's clock. */
  readonly asOfMs: number | undefined;
}

/** 15 minutes of samples. */
const MAX_SAMPLES = 180;
const NONE: MetricSamples = { samples: [], asOfMs: undefined };

let shown: MetricSamples = NONE;
const listeners = new Set<() => void>();
let unsubscribe: (() => void) | undefined;

function show(next: MetricSamples): void {
  shown = next;
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  unsubscribe ??= live.subscribe("svc.metrics", "all", {
    onSync: (data) => show({ samples: (data as readonly MetricSample[]).slice(-MAX_SAMPLES), asOfMs: Date.now() }),
    onEvent({ data }) {
      const { data: sample } = data as { readonly data: MetricSample };
      show({ samples: [...shown.samples, sample].slice(-MAX_SAMPLES), asOfMs: Date.now() });
    },
  });
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    unsubscribe?.();
    unsubscribe = undefined;
    shown = NONE;
  };
}

export function useMetricSamples(): MetricSamples {
  return useSyncExternalStore(listen, () => shown);
}
