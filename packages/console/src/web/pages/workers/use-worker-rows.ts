import { useMemo } from "react";
import { t } from "../../labels/translate.ts";
import { ApiFailure } from "../../lib/api.ts";
import { useLiveCollection, useWorkers } from "../../lib/use-live.ts";
import { isMissingFunction, usePolledCall } from "../../lib/use-polled-call.ts";
import { useNow } from "../../ui/time.tsx";
import {
  type ConfiguredWorker,
  type LocalWorkerState,
  rowsOf,
  type WorkerMetrics,
  type WorkerRow,
  withLiveStates,
} from "./worker-rows.ts";

/** Interval at which workers that disconnected are removed from the list, in milliseconds. */
const CLOCK_STEP_MS = 10_000;

interface WorkerRows {
  readonly loaded: boolean;
  /** True if the workers of the config file are loaded too. */
  readonly areAllLoaded: boolean;
  readonly rows: readonly WorkerRow[];
  /** Set if the list of workers cannot be loaded. */
  readonly error: Error | null;
  /** Reason why metrics (CPU, memory) are unavailable. Undefined if they are available. */
  readonly metricsProblem: string | undefined;
}

/**
 * Returns all workers. Connections and the states of configured workers are updated live. Metrics are polled every 5 s.
 */
export function useWorkerRows(): WorkerRows {
  const { loaded, workers, gone, refusal } = useWorkers();
  const clock = useNow();
  const nowMs = Math.ceil(clock / CLOCK_STEP_MS) * CLOCK_STEP_MS;
  const metrics = usePolledCall<{ readonly workers: readonly WorkerMetrics[] }>(
    "engine::metrics::workers",
    [],
    () => ({}),
  );
  const configured = usePolledCall<{ readonly workers: readonly ConfiguredWorker[] }>("worker::list", [], () => ({}));
  const liveStates = useLiveCollection<LocalWorkerState>("svc.local_workers", ({ name }) => name);
  const states = liveStates.loaded ? liveStates.items : undefined;
  const rows = useMemo(
    () =>
      rowsOf({
        workers,
        gone,
        nowMs,
        metrics: metrics.data?.workers ?? [],
        configured: withLiveStates(configured.data?.workers ?? [], states),
      }),
    [workers, gone, nowMs, metrics.data, configured.data, states],
  );
  return {
    ...{ loaded, rows },
    areAllLoaded:
      loaded &&
      (configured.data !== undefined || configured.error !== null) &&
      (liveStates.loaded || liveStates.status === "refused"),
    error: refusal === null ? null : new ApiFailure("svc.workers", { code: "refused", message: refusal }),
    metricsProblem:
      metrics.error === null
        ? undefined
        : isMissingFunction(metrics.error)
          ? t`svc-observability is off`
          : metrics.error.message,
  };
}

interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [number, number | null])[];
}

export interface WorkerLines {
  readonly cpu: readonly (number | null)[];
  readonly rss: readonly (number | null)[];
}

const LINE_MS = 300_000;

/** Returns CPU and memory of the last 5 min, by worker id. */
export function useWorkerLines(): ReadonlyMap<string, WorkerLines> {
  const { data } = usePolledCall<{ readonly series: readonly Series[] }>(
    "engine::metrics::series",
    ["worker lines"],
    () => ({
      names: ["svc.worker.cpu_percent", "svc.worker.rss_bytes"],
      start_time: Date.now() - LINE_MS,
      step_seconds: 10,
    }),
    { everyMs: 10_000 },
  );
  return useMemo(() => {
    const lines = new Map<string, WorkerLines>();
    for (const { name, labels, points } of data?.series ?? []) {
      const id = labels.worker_id;
      if (id === undefined) continue;
      const line = lines.get(id) ?? { cpu: [], rss: [] };
      lines.set(id, { ...line, [name === "svc.worker.cpu_percent" ? "cpu" : "rss"]: points.map(([, value]) => value) });
    }
    return lines;
  }, [data]);
}
