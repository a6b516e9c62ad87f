import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import { t } from "../../labels/translate.ts";
import { clockTime, dateTime, useZone } from "../../lib/time.ts";
import { cn } from "../../ui/cn.ts";
import { LEVELS, type Level } from "./log.ts";
import type { Bucket } from "./use-logs.ts";

const FILLS: Readonly<Record<Level, string>> = {
  TRACE: "bg-ink-3/40",
  DEBUG: "bg-ink-3",
  INFO: "bg-info",
  WARN: "bg-warn",
  ERROR: "bg-danger",
};
const DAY_MS = 86_400_000;
const FRAME = "border-line border-b bg-surface px-4 pt-2 pb-1 max-sm:hidden";
const AXIS = "flex justify-between pt-0.5 font-mono text-[11px] text-ink-3";

function countOf({ counts }: Bucket): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/**
 * Empty space with the height of the histogram. It is shown until the counts are loaded. Without it, the list would
 * move down when the histogram appears, and a click would hit the wrong row.
 */
export function HistogramPlaceholder() {
  return (
    <div aria-hidden className={FRAME}>
      <div className="h-14" />
      <div className={AXIS}>
        <span className="font-sans">&nbsp;</span>
        <span>&nbsp;</span>
      </div>
    </div>
  );
}

/**
 * Chart of the entries by time and level. A time range is selected by dragging, or with arrow keys, Shift and Enter.
 */
export function Histogram({
  buckets,
  onRange,
}: {
  readonly buckets: readonly Bucket[];
  readonly onRange: (fromMs: number, toMs: number) => void;
}) {
  const zone = useZone();
  const bars = useRef<HTMLDivElement>(null);
  const [selected, setSelected] = useState<{ readonly from: number; readonly to: number }>();
  const max = Math.max(1, ...buckets.map(countOf));
  const first = buckets[0];
  const last = buckets.at(-1);
  if (first === undefined || last === undefined) return null;
  const time = (ms: number): string =>
    last.end_ms - first.start_ms > DAY_MS ? dateTime(ms, zone) : clockTime(ms, zone, false);
  const at = (event: PointerEvent): number => {
    const box = bars.current?.getBoundingClientRect();
    if (box === undefined) return 0;
    return Math.min(
      buckets.length - 1,
      Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * buckets.length)),
    );
  };
  const ends =
    selected === undefined
      ? undefined
      : ([Math.min(selected.from, selected.to), Math.max(selected.from, selected.to)] as const);
  const apply = (): void => {
    const [from, to] = [buckets[ends?.[0] ?? -1], buckets[ends?.[1] ?? -1]];
    setSelected(undefined);
    if (from !== undefined && to !== undefined) onRange(Math.floor(from.start_ms), Math.ceil(to.end_ms));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (step !== 0) {
      const to = Math.min(buckets.length - 1, Math.max(0, (selected?.to ?? (step < 0 ? buckets.length : -1)) + step));
      setSelected({ from: event.shiftKey ? (selected?.from ?? to) : to, to });
    } else if (event.key === "Enter" && selected !== undefined) apply();
    else if (event.key === "Escape" && selected !== undefined) setSelected(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const range = buckets.slice(ends?.[0] ?? 0, (ends?.[1] ?? -1) + 1);
  const summary =
    ends === undefined
      ? ""
      : t`${time(range[0]?.start_ms ?? 0)} to ${time(range.at(-1)?.end_ms ?? 0)}: ${countsText(range)}. Press Enter to filter by it.`;
  return (
    <div className={FRAME}>
      <div
        ref={bars}
        role="slider"
        tabIndex={0}
        aria-valuemin={1}
        aria-valuemax={buckets.length}
        aria-valuenow={(selected?.to ?? buckets.length - 1) + 1}
        aria-valuetext={summary === "" ? t`No time range selected` : summary}
        aria-label={t`Entries over time, ${time(first.start_ms)} to ${time(last.end_ms)}. Arrow keys select a time range, Shift extends it, Enter filters by it.`}
        onKeyDown={onKeyDown}
        onBlur={() => setSelected(undefined)}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setSelected({ from: at(event), to: at(event) });
        }}
        onPointerMove={(event) =>
          selected !== undefined && event.buttons === 1 && setSelected({ from: selected.from, to: at(event) })
        }
        onPointerUp={apply}
        className="flex h-14 cursor-crosshair touch-none select-none items-end gap-px"
      >
        {buckets.map((bucket, index) => (
          <div
            key={bucket.start_ms}
            title={t`${time(bucket.start_ms)} to ${time(bucket.end_ms)}: ${countsText([bucket])}`}
            className={cn(
              "flex h-full min-w-0 flex-1 flex-col-reverse",
              ends !== undefined && index >= ends[0] && index <= ends[1] && "bg-accent-soft",
            )}
          >
            {LEVELS.toReversed().map((level) => (
              <div
                key={level}
                className={FILLS[level]}
                style={{ height: `${((bucket.counts[level] ?? 0) / max) * 100}%` }}
              />
            ))}
          </div>
        ))}
      </div>
      <div className={AXIS}>
        <span>{time(first.start_ms)}</span>
        <span aria-hidden className="flex min-w-0 items-center gap-3 px-2 font-sans text-ink-2">
          {summary === "" ? <Legend buckets={buckets} max={max} /> : <span className="truncate">{summary}</span>}
        </span>
        <span>{time(last.end_ms)}</span>
      </div>
    </div>
  );
}

function Legend({ buckets, max }: { readonly buckets: readonly Bucket[]; readonly max: number }) {
  return (
    <>
      {LEVELS.filter((level) => buckets.some(({ counts }) => (counts[level] ?? 0) > 0)).map((level) => (
        <span key={level} className="flex items-center gap-1">
          <span className={cn("size-2 rounded-[2px]", FILLS[level])} /> {level}
        </span>
      ))}
      <span className="text-ink-3">{t`at most ${max} per bar`}</span>
    </>
  );
}

function countsText(buckets: readonly Bucket[]): string {
  const parts = LEVELS.map(
    (level) => [level, buckets.reduce((sum, { counts }) => sum + (counts[level] ?? 0), 0)] as const,
  ).filter(([, count]) => count > 0);
  return parts.length === 0
    ? "none"
    : parts.map(([level, count]) => `${count.toLocaleString("en-GB")} ${level}`).join(", ");
}
