import { type PointerEvent, useEffect, useRef, useState } from "react";
import { t } from "../../../labels/translate.ts";
import { serviceToken } from "../../../lib/service-colors.ts";
import { endOf, type TraceForest } from "../../../model/span-forest.ts";
import { clamped, type ViewWindow } from "./time-window.ts";
import { useTokens } from "./use-tokens.ts";

const HEIGHT = 36;

/**
 * Shows the whole trace, with the visible range marked. Dragging selects another range. For keyboard users, the zoom
 * buttons do the same.
 */
export function Minimap({
  forest,
  nowMs,
  lengthMs,
  view,
  onView,
}: {
  readonly forest: TraceForest;
  readonly nowMs: number;
  readonly lengthMs: number;
  readonly view: ViewWindow;
  readonly onView: (next: ViewWindow | undefined) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [drag, setDrag] = useState<ViewWindow>();
  const tokens = useTokens();
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const width = element.clientWidth;
    element.width = width * devicePixelRatio;
    element.height = HEIGHT * devicePixelRatio;
    context.scale(devicePixelRatio, devicePixelRatio);
    const row = Math.min(3, HEIGHT / Math.max(1, forest.nodes.length));
    for (const node of forest.nodes) {
      const x = (node.startMs / lengthMs) * width;
      context.fillStyle = tokens(node.status === "error" ? "--danger" : serviceToken(node.service));
      context.fillRect(
        x,
        node.at * row,
        Math.max(1, ((endOf(node, nowMs) - node.startMs) / lengthMs) * width),
        Math.max(0.75, row * 0.8),
      );
    }
  }, [forest, nowMs, lengthMs, tokens]);
  const momentAt = (event: PointerEvent): number => {
    const rect = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - rect.left) / rect.width)) * lengthMs;
  };
  const range = drag ?? view;
  const [left, right] = [
    (Math.min(range.fromMs, range.toMs) / lengthMs) * 100,
    (Math.max(range.fromMs, range.toMs) / lengthMs) * 100,
  ];
  return (
    <div
      role="img"
      aria-label={t`Minimap of the trace`}
      className="relative cursor-crosshair touch-none border-line border-b bg-surface"
      style={{ height: HEIGHT }}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ fromMs: momentAt(event), toMs: momentAt(event) });
      }}
      onPointerMove={(event) => drag !== undefined && setDrag({ fromMs: drag.fromMs, toMs: momentAt(event) })}
      onPointerUp={() => {
        if (drag !== undefined && Math.abs(drag.toMs - drag.fromMs) > lengthMs / 200) onView(clamped(drag, lengthMs));
        setDrag(undefined);
      }}
      onPointerCancel={() => setDrag(undefined)}
      onDoubleClick={() => onView(undefined)}
    >
      <canvas ref={canvas} className="h-full w-full" />
      <span className="pointer-events-none absolute inset-y-0 left-0 bg-ink/15" style={{ width: `${left}%` }} />
      <span className="pointer-events-none absolute inset-y-0 right-0 bg-ink/15" style={{ width: `${100 - right}%` }} />
    </div>
  );
}
