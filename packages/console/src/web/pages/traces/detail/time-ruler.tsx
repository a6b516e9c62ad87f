import { type PointerEvent, useRef, useState } from "react";
import { t } from "../../../labels/translate.ts";
import { duration } from "../../../lib/time.ts";
import { useIsNarrow } from "../../../ui/list-detail.tsx";
import { useWidth } from "../../../ui/use-width.ts";
import { clamped, labelledTicks, shareOf, ticksOf, type ViewWindow } from "./time-window.ts";

/** The time axis. Dragging along it zooms in. */
export function TimeRuler({
  view,
  lengthMs,
  onView,
}: {
  readonly view: ViewWindow;
  readonly lengthMs: number;
  readonly onView: (next: ViewWindow | undefined) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<ViewWindow>();
  const momentAt = (event: PointerEvent): number => {
    const rect = box.current?.getBoundingClientRect();
    if (rect === undefined || rect.width === 0) return view.fromMs;
    return view.fromMs + Math.min(1, Math.max(0, (event.clientX - rect.left) / rect.width)) * (view.toMs - view.fromMs);
  };
  const width = useWidth(box);
  const ticks = labelledTicks(ticksOf(view, useIsNarrow(640) ? 2 : 5), view, width, duration);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys and buttons of the view do the same
    <div
      ref={box}
      title={t`Drag to zoom in, double-click to reset the zoom`}
      className="relative h-full cursor-crosshair touch-none overflow-hidden"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ fromMs: momentAt(event), toMs: momentAt(event) });
      }}
      onPointerMove={(event) => drag !== undefined && setDrag({ fromMs: drag.fromMs, toMs: momentAt(event) })}
      onPointerUp={() => {
        if (drag !== undefined && Math.abs(shareOf(drag.toMs, view) - shareOf(drag.fromMs, view)) > 0.01)
          onView(clamped(drag, lengthMs));
        setDrag(undefined);
      }}
      onPointerCancel={() => setDrag(undefined)}
      onDoubleClick={() => onView(undefined)}
    >
      {ticks.map(({ ms, text, side }) => (
        <span
          key={ms}
          className="absolute inset-y-0 flex items-center whitespace-nowrap border-line border-l pl-1 font-mono text-[11px] text-ink-3"
          style={{
            left: `${shareOf(ms, view) * 100}%`,
            ...(side === "left" ? { transform: "translateX(-100%)", borderLeftWidth: 0 } : {}),
          }}
        >
          {side !== undefined && text}
        </span>
      ))}
      {drag !== undefined && (
        <span
          className="absolute inset-y-0 bg-accent/20"
          style={{
            left: `${Math.min(shareOf(drag.fromMs, view), shareOf(drag.toMs, view)) * 100}%`,
            width: `${Math.abs(shareOf(drag.toMs, view) - shareOf(drag.fromMs, view)) * 100}%`,
          }}
        />
      )}
    </div>
  );
}
