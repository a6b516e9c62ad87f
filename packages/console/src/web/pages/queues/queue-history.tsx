import { useMemo } from "react";
import { t } from "../../labels/translate.ts";
import { bytes } from "../../lib/time.ts";
import { isMissingFunction, usePolledCall } from "../../lib/use-polled-call.ts";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { TimeChart } from "../../ui/time-chart.tsx";

interface Series {
  readonly name: string;
  readonly points: readonly (readonly [ms: number, value: number | null])[];
}

const WINDOW_MS = 900_000;
const NAMES = ["waiting", "delayed", "in_flight", "dead", "added", "done", "died", "bytes"] as const;
const number = (value: number): string =>
  value.toLocaleString("en-GB", { maximumFractionDigits: Math.abs(value) < 10 ? 1 : 0 });

/** Depth, rates and size of a queue over the last 15 min. */
export default function QueueHistory({ queue }: { readonly queue: string }) {
  const { data, error, isPending, refetch } = usePolledCall<{ readonly series: readonly Series[] }>(
    "engine::metrics::series",
    ["queue", queue],
    () => ({
      names: NAMES.map((name) => `svc.queue.${name}`),
      labels: { queue },
      start_time: Date.now() - WINDOW_MS,
      step_seconds: 10,
    }),
  );
  const { times, valuesOf } = useMemo(() => {
    const byName = new Map(data?.series.map(({ name, points }) => [name, new Map(points)]));
    const times = [...new Set((data?.series ?? []).flatMap(({ points }) => points.map(([ms]) => ms)))].sort(
      (a, b) => a - b,
    );
    const valuesOf = (name: (typeof NAMES)[number]): readonly (number | null)[] =>
      times.map((ms) => byName.get(`svc.queue.${name}`)?.get(ms) ?? null);
    return { times, valuesOf };
  }, [data]);
  const shared = { times, syncKey: `queue ${queue}` };
  return (
    <DataRegion
      loading={isPending}
      error={isMissingFunction(error) ? null : error}
      retry={() => void refetch()}
      empty={isMissingFunction(error) || data?.series.length === 0}
      emptyState={
        <EmptyState title={t`No history of this queue`}>
          {isMissingFunction(error)
            ? t`svc-observability is off.`
            : t`The engine measures queues every 5 s. The first values appear soon.`}
        </EmptyState>
      }
      className="gap-3 overflow-auto p-3"
    >
      <TimeChart
        {...shared}
        title={t`Depth`}
        format={number}
        lines={[
          { name: t`waiting`, tone: "accent", values: valuesOf("waiting") },
          { name: t`delayed`, tone: "violet", values: valuesOf("delayed") },
          { name: t`in flight`, tone: "info", values: valuesOf("in_flight") },
          { name: t`dead letters`, tone: "danger", values: valuesOf("dead") },
        ]}
      />
      <TimeChart
        {...shared}
        title={t`Jobs per second`}
        format={number}
        lines={[
          { name: t`added`, tone: "accent", values: valuesOf("added") },
          { name: t`done`, tone: "info", values: valuesOf("done") },
          { name: t`dead-lettered`, tone: "danger", values: valuesOf("died") },
        ]}
      />
      <TimeChart
        {...shared}
        title={t`Stored`}
        format={bytes}
        lines={[{ name: t`size`, tone: "accent", values: valuesOf("bytes") }]}
      />
    </DataRegion>
  );
}
