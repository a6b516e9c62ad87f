import { useMemo } from "react";
import { t } from "../../labels/translate.ts";
import { bytes, duration } from "../../lib/time.ts";
import { isMissingFunction, usePolledCall } from "../../lib/use-polled-call.ts";
import type { Worker } from "../../lib/worker-history.ts";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { TimeChart } from "../../ui/time-chart.tsx";

interface Series {
  readonly name: string;
  readonly points: readonly (readonly [number, number | null])[];
}

const WINDOW_MS = 900_000;
const NAMES = ["cpu_percent", "rss_bytes", "heap_used_bytes", "event_loop_lag_ms", "in_flight"] as const;
const percent = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} %`;
const whole = (value: number): string => (Number.isInteger(value) ? String(value) : value.toFixed(1));

/** Figures of the worker's process over the last 15 min. */
export function MetricsTab({ worker }: { readonly worker: Worker }) {
  const { data, error, isPending, refetch } = usePolledCall<{ readonly series: readonly Series[] }>(
    "engine::metrics::series",
    ["worker", worker.id],
    () => ({
      names: NAMES.map((name) => `svc.worker.${name}`),
      labels: { worker_id: worker.id },
      start_time: Date.now() - WINDOW_MS,
      // Workers send values every 5 s or slightly later, so with steps of 5 s there would be gaps.
      step_seconds: 10,
    }),
  );
  const { times, valuesOf } = useMemo(() => {
    const byName = new Map(data?.series.map(({ name, points }) => [name, points]));
    const longest =
      data?.series.reduce<Series["points"]>((most, { points }) => (points.length > most.length ? points : most), []) ??
      [];
    return {
      times: longest.map(([ms]) => ms),
      valuesOf: (name: (typeof NAMES)[number]) =>
        byName.get(`svc.worker.${name}`)?.map(([, value]) => value) ?? longest.map(() => null),
    };
  }, [data]);
  const sync = `worker ${worker.id}`;
  return (
    <DataRegion
      loading={isPending}
      error={error}
      empty={data !== undefined && data.series.length === 0}
      retry={() => void refetch()}
      emptyState={
        <EmptyState title={t`No metrics from this worker`}>
          {isMissingFunction(error)
            ? t`svc-observability is off.`
            : t`Workers that use an svc SDK report metrics every 5 s. The engine also measures the processes that it starts.`}
        </EmptyState>
      }
      className="gap-3 p-3"
    >
      <TimeChart
        title={t`CPU`}
        times={times}
        syncKey={sync}
        format={percent}
        lines={[{ name: t`of one core`, tone: "accent", values: valuesOf("cpu_percent") }]}
      />
      <TimeChart
        title={t`Memory`}
        times={times}
        syncKey={sync}
        format={bytes}
        lines={[
          { name: t`resident (RSS)`, tone: "accent", values: valuesOf("rss_bytes") },
          { name: t`heap used`, tone: "violet", values: valuesOf("heap_used_bytes") },
        ]}
      />
      <TimeChart
        title={t`Event loop lag`}
        times={times}
        syncKey={sync}
        format={duration}
        lines={[{ name: t`lag`, tone: "warn", values: valuesOf("event_loop_lag_ms") }]}
      />
      <TimeChart
        title={t`Calls in flight`}
        times={times}
        syncKey={sync}
        format={whole}
        lines={[{ name: t`in flight`, tone: "info", values: valuesOf("in_flight") }]}
      />
    </DataRegion>
  );
}
