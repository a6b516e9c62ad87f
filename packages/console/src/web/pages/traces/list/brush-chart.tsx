import { type PointerEvent, useRef, useState } from "react";
import { t } from "../../../labels/translate.ts";

export interface Bar {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  readonly errors: number;
  readonly label: string;
}

export const CHART_HEIGHT = 48;

/**
 * Bar chart. A range of bars is selected by dragging. There is no keyboard support, because fields beside the chart set
 * the same range.
 */
export function BrushChart({
  title,
  bars,
  ends,
  onSelect,
}: {
  readonly title: string;
  readonly bars: readonly Bar[];
  readonly ends: readonly [string, string];
  readonly onSelect: (from: number, to: number) => void;
}) {
  const [drag, setDrag] = useState<readonly [number, number]>();
  const box = useRef<HTMLDivElement>(null);
  const most = Math.max(1, ...bars.map(({ count }) => count));
  const barAt = (event: PointerEvent): number => {
    const rect = box.current?.getBoundingClientRect();
    if (rect === undefined) return 0;
    return Math.min(bars.length - 1, Math.max(0, Math.floor(((event.clientX - rect.left) / rect.width) * bars.length)));
  };
  const finish = (): void => {
    if (drag === undefined) return;
    const [first, last] = [bars[Math.min(...drag)], bars[Math.max(...drag)]];
    setDrag(undefined);
    if (first !== undefined && last !== undefined) onSelect(first.from, last.to);
  };
  const total = bars.reduce((sum, { count }) => sum + count, 0);
  return (
    <figure className="min-w-0 flex-1">
      <figcaption className="flex items-baseline gap-2 text-[11px] text-ink-3">
        <span className="font-medium text-ink-2">{title}</span>
        <span className="flex-1" />
        {t`at most ${most} per bar`}
      </figcaption>
      <div
        ref={box}
        role="img"
        aria-label={t`${title}: ${total} traces from ${ends[0]} to ${ends[1]}, at most ${most} in one bar`}
        title={t`Drag to select a range`}
        className="relative flex cursor-crosshair touch-none items-end gap-px border-line border-b"
        style={{ height: CHART_HEIGHT }}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag([barAt(event), barAt(event)]);
        }}
        onPointerMove={(event) => drag !== undefined && setDrag([drag[0], barAt(event)])}
        onPointerUp={finish}
        onPointerCancel={() => setDrag(undefined)}
      >
        {bars.map((bar, at) => (
          <span
            key={bar.from}
            title={bar.label}
            className={`flex h-full min-w-0 flex-1 flex-col justify-end ${
              drag !== undefined && at >= Math.min(...drag) && at <= Math.max(...drag) ? "bg-accent-soft" : ""
            }`}
          >
            {bar.count > 0 && (
              <span
                className="flex flex-col justify-end"
                style={{ height: `${Math.max(6, (bar.count / most) * 100)}%` }}
              >
                <span className="bg-danger" style={{ height: `${(bar.errors / bar.count) * 100}%` }} />
                <span className="flex-1 bg-accent/70" />
              </span>
            )}
          </span>
        ))}
      </div>
      <div aria-hidden className="flex flex-wrap justify-between gap-x-3 font-mono text-[11px] text-ink-3">
        <span>{ends[0]}</span>
        <span>{ends[1]}</span>
      </div>
    </figure>
  );
}
