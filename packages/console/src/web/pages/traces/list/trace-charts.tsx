import { t } from "../../../labels/translate.ts";
import { clockTime, dateTime, duration, useZone } from "../../../lib/time.ts";
import type { HistogramAnswer } from "../../../model/trace-types.ts";
import { type Bar, BrushChart, CHART_HEIGHT } from "./brush-chart.tsx";

const DAY_MS = 86_400_000;
const FRAME = "flex gap-6 border-line border-b px-4 py-2 max-sm:hidden";

/**
 * Empty space with the height of the charts. It is shown until the counts are loaded, so that the list does not move
 * under the pointer.
 */
export function ChartsPlaceholder() {
  return (
    <div aria-hidden className={FRAME}>
      <div className="text-[11px]">
        <div>&nbsp;</div>
        <div style={{ height: CHART_HEIGHT }} />
        <div className="font-mono">&nbsp;</div>
      </div>
    </div>
  );
}

/** Histograms of the matching traces by start time and by duration. */
export function TraceCharts({
  histogram,
  onTime,
  onDuration,
}: {
  readonly histogram: HistogramAnswer;
  readonly onTime: (fromMs: number, toMs: number) => void;
  readonly onDuration: (minMs: number, maxMs: number) => void;
}) {
  const zone = useZone();
  const [first, last] = [histogram.time[0], histogram.time.at(-1)];
  const [shortest, longest] = [histogram.duration[0], histogram.duration.at(-1)];
  if (first === undefined || last === undefined) return null;
  const isLong = last.end_ms - first.start_ms > DAY_MS;
  const moment = (ms: number): string => (isLong ? dateTime(ms, zone) : clockTime(ms, zone, false));
  const times = histogram.time.map(
    ({ start_ms, end_ms, count, errors }): Bar => ({
      ...{ from: start_ms, to: end_ms, count, errors },
      label: t`${moment(start_ms)} to ${moment(end_ms)}: ${count} traces, ${errors} with errors`,
    }),
  );
  const durations = histogram.duration.map(
    ({ min_ms, max_ms, count }): Bar => ({
      from: min_ms,
      to: max_ms,
      count,
      errors: 0,
      label: t`${duration(min_ms)} to ${duration(max_ms)}: ${count} traces`,
    }),
  );
  return (
    <div className={FRAME}>
      <BrushChart
        title={t`Start time`}
        bars={times}
        ends={[moment(first.start_ms), moment(last.end_ms)]}
        onSelect={(from, to) => onTime(Math.floor(from), Math.ceil(to))}
      />
      {shortest !== undefined && longest !== undefined && (
        <BrushChart
          title={t`Duration (log scale)`}
          bars={durations}
          ends={[duration(shortest.min_ms), duration(longest.max_ms)]}
          onSelect={onDuration}
        />
      )}
    </div>
  );
}
