import { useMemo } from "react";
import { ApiFailure } from "../../lib/api.ts";
import { useLiveCollection, useWorkers } from "../../lib/use-live.ts";
import { isMissingFunction, usePolledCall } from "../../lib/use-polled-call.ts";
import { useNow } from "../../ui/time.tsx";
import { type ConfiguredWorker, configuredNow, rowsOf, type Standing, type WorkerFigures, type WorkerRow } from "./worker-rows.ts";

/** Rows need the clock only to let go of who went; so often is enough, in milliseconds. */
const CLOCK_STEP_MS = 10_000;

export interface WorkerRows {
  readonly loaded: boolean;
  /** Those of the config file have been asked for, too. */
  readonly areAllKnown: boolean;
  readonly rows: readonly WorkerRow[];
  /** Why the list itself cannot be had. */
  readonly error: Error | null;
  /** Why the figures (CPU, memory) are not known; undefined when they are. */
  readonly noFigures: string | undefined;
}

/** Every worker with its figures: who is there and how those of the config file are comes live, the figures each 5 s. */
export function useWorkerRows(): WorkerRows {
  const { loaded, workers, gone, refusal } = useWorkers();
  const clock = useNow();
  const nowMs = Math.ceil(clock / CLOCK_STEP_MS) * CLOCK_STEP_MS;
  const figures = usePolledCall<{ readonly workers: readonly WorkerFigures[] }>("engine::metrics::workers", [], () => ({}));
  const configured = usePolledCall<{ readonly workers: readonly ConfiguredWorker[] }>("worker::list", [], () => ({}));
  const standings = useLiveCollection<Standing>("svc.local_workers", ({ name }) => name);
  const told = standings.loaded ? standings.items : undefined;
  const rows = useMemo(
    () => rowsOf({ workers, gone, nowMs, figures: figures.data?.workers ?? [], configured: configuredNow(configured.data?.workers ?? [], told) }),
    [workers, gone, nowMs, figures.data, configured.data, told],
  );
  return {
    ...{ loaded, rows },
    areAllKnown: loaded && (configured.data !== undefined || configured.error !== null) && (standings.loaded || standings.status === "refused"),
    error: refusal === null ? null : new ApiFailure("svc.workers", { code: "refused", message: refusal }),
    noFigures: figures.error === null ? undefined : isMissingFunction(figures.error) ? "svc-observability is off" : figures.error.message,
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

/** CPU and memory of the last 5 min, by the worker's id. */
export function useWorkerLines(): ReadonlyMap<string, WorkerLines> {
  const { data } = usePolledCall<{ readonly series: readonly Series[] }>(
    "engine::metrics::series",
    ["worker lines"],
    () => ({ names: ["svc.worker.cpu_percent", "svc.worker.rss_bytes"], start_time: Date.now() - LINE_MS, step_seconds: 10 }),
    { everyMs: 10_000 },
  );
  return useMemo(() => {
    const lines = new Map<string, WorkerLines>();
    for (const { name, labels, points } of data?.series ?? []) {
      const id = labels.worker_id;
      if (id === undefined) continue;
      const before = lines.get(id) ?? { cpu: [], rss: [] };
      lines.set(id, { ...before, [name === "svc.worker.cpu_percent" ? "cpu" : "rss"]: points.map(([, value]) => value) });
    }
    return lines;
  }, [data]);
}
