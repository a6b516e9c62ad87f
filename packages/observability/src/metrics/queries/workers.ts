import type { Directory } from "@svc-runtime/engine/module";
import type { WorkerCallFigures } from "../../calls/worker-calls.ts";
import type { WorkerCollector } from "../sources/worker-collector.ts";

/** Implements `engine::metrics::workers`. Values that are not known are null. */
export function workerMetrics(
  directory: Directory,
  figures: Pick<WorkerCollector, "latest"> & { readonly calls: (workerId: string) => WorkerCallFigures | undefined },
  now: number,
) {
  const workers = directory.workers().filter(({ status, internal }) => status === "connected" && !internal);
  return {
    workers: workers.map(({ id, name, active_invocations }) => {
      const latest = figures.latest(id);
      return {
        worker_id: id,
        name,
        cpu_percent: latest?.cpu_percent ?? null,
        rss_bytes: latest?.memory_rss ?? null,
        heap_used_bytes: latest?.memory_heap_used ?? null,
        event_loop_lag_ms: latest?.event_loop_lag_ms ?? null,
        in_flight: active_invocations,
        uptime_seconds: latest?.uptime_seconds ?? null,
        calls: figures.calls(id) ?? null,
        source: latest?.source ?? null,
        as_of: latest?.timestamp_ms ?? now,
      };
    }),
    as_of: now,
  };
}
