import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { t } from "../../labels/translate.ts";
import { bytes, duration } from "../../lib/time.ts";
import { usePolledCall } from "../../lib/use-polled-call.ts";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { TimeChart } from "../../ui/time-chart.tsx";
import { TimeRange } from "../../ui/time-range.tsx";
import type { MetricInfo } from "./metric-info.ts";
import { FALLBACK_RANGE, metricWindow } from "./metric-window.ts";
import { byHighest, labelText, latestOf, linesOf, MAX_LINES, namesOf, type Series } from "./series-lines.ts";

const route = getRouteApi("/metrics/{-$name}");
const PRESETS = ["5m", "15m", "1h", "6h", "24h", "7d"] as const;
/** Maximum number of series in the list below the chart. */
const MAX_LISTED = 100;

const AGGREGATES: Readonly<Record<string, string>> = {
  ...{ avg: t`Mean`, rate: t`Per second`, sum: t`Sum`, max: t`Maximum` },
  ...{ p50: t`Median`, p95: t`95th percentile`, p99: t`99th percentile` },
};

interface Answer {
  readonly series: readonly Series[];
  /** True if there are more series than the engine returns in one result. */
  readonly truncated?: boolean;
}

/**
 * One metric over time. A chart shows the series with the highest values, and a list shows all series with their latest
 * value.
 */
export function MetricDetail({ name, info }: { readonly name: string; readonly info: MetricInfo | undefined }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, isPending, refetch } = usePolledCall<Answer>(
    "engine::metrics::series",
    ["metric", name, search.range, search.from, search.to],
    () => {
      const { startMs, endMs, stepSeconds } = metricWindow(search, Date.now());
      return { names: [name], start_time: startMs, end_time: endMs, step_seconds: stepSeconds };
    },
    { everyMs: metricWindow(search, Date.now()).pollMs },
  );
  const wanted = (search.labels ?? "").toLowerCase();
  const series = useMemo(
    () => byHighest(data?.series ?? []).filter((each) => labelText(each).toLowerCase().includes(wanted)),
    [data, wanted],
  );
  const names = useMemo(() => namesOf(series), [series]);
  const { times, lines } = useMemo(() => linesOf(series), [series]);
  const format = formatOf(info?.unit ?? data?.series[0]?.unit ?? "", series[0]?.aggregate);
  return (
    <div className="flex h-full min-h-0 flex-col gap-3 overflow-auto p-3">
      <div className="flex flex-wrap items-center gap-2">
        <p className="w-full text-ink-2">{info?.description}</p>
        <SearchBox
          label={t`Filter series by label`}
          hotkey={undefined}
          className="flex-1"
          value={search.labels ?? ""}
          onChange={(labels) =>
            void navigate({ search: (before) => ({ ...before, labels: labels || undefined }), replace: true })
          }
        />
        <TimeRange
          value={search}
          fallback={FALLBACK_RANGE}
          presets={PRESETS}
          onChange={(range) => void navigate({ search: (before) => ({ ...before, ...range }) })}
        />
      </div>
      <DataRegion
        loading={isPending}
        error={error}
        retry={() => void refetch()}
        empty={series.length === 0}
        filtered={
          wanted === ""
            ? undefined
            : {
                what: t`No series has a label with “${search.labels ?? ""}”.`,
                clear: () => void navigate({ search: (before) => ({ ...before, labels: undefined }) }),
              }
        }
        emptyState={
          <EmptyState title={t`No values`}>{t`This metric has no values in the selected time range.`}</EmptyState>
        }
        className="gap-3"
      >
        <TimeChart
          title={AGGREGATES[series[0]?.aggregate ?? ""] ?? t`Value`}
          times={times}
          lines={lines}
          format={format}
        />
        {series.length > MAX_LINES && (
          <p className="text-[12px] text-ink-3">
            {t`The chart shows the ${MAX_LINES} series with the highest values of ${series.length}.`}
          </p>
        )}
        {data?.truncated === true && (
          <p role="note" className="text-[12px] text-warn">
            {t`This metric has more series than one answer of the engine contains. The chart and the list are made of ${data.series.length} of them.`}
          </p>
        )}
        <ul aria-label={t`Series`} className="flex flex-col">
          {series.slice(0, MAX_LISTED).map((each, at) => {
            const latest = latestOf(each);
            return (
              <li key={names[at]} className="flex gap-3 border-line/60 border-b py-1">
                <code className="min-w-0 flex-1 break-words">{names[at]}</code>
                <span className="font-mono">{latest === undefined ? t`no value` : format(latest)}</span>
              </li>
            );
          })}
        </ul>
      </DataRegion>
    </div>
  );
}

/**
 * Returns a function that formats the values of a unit. A rate of a duration or of a size is formatted as a plain
 * number.
 */
function formatOf(unit: string, aggregate: string | undefined): (value: number) => string {
  const number = (value: number): string =>
    value.toLocaleString("en-GB", { maximumFractionDigits: Math.abs(value) < 10 ? 2 : 0 });
  if (aggregate === "rate") return (value) => `${number(value)}/s`;
  if (unit === "ms") return duration;
  if (unit === "By" || unit === "bytes") return bytes;
  return unit === "%" ? (value) => `${number(value)} %` : number;
}
