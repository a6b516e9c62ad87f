import { getRouteApi } from "@tanstack/react-router";
import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef, useState } from "react";
import { t } from "../../../labels/translate.ts";
import { duration } from "../../../lib/time.ts";
import { endOf, type SpanNode, selfTimeMs, type TraceForest } from "../../../model/span-forest.ts";
import { Button } from "../../../ui/button.tsx";
import { SearchBox } from "../../../ui/search-box.tsx";
import { type Frame, layOutFlame } from "../model/flame-layout.ts";
import { drawFlame, type FlameColors, LANE } from "./draw-flame.ts";
import { FlameTree } from "./flame-tree.tsx";
import { TimeRuler } from "./time-ruler.tsx";
import { moved, type ViewWindow, zoomed } from "./time-window.ts";
import { useTokens } from "./use-tokens.ts";

const route = getRouteApi("/traces/{-$traceId}/{-$spanId}");

/**
 * Flame graph: each span is below its parent, and its width is its duration. The arrow keys move between spans; Enter
 * opens a span.
 */
export default function FlameGraph({
  forest,
  nowMs,
  selectedId,
  onSelect,
  view,
  onView,
}: {
  readonly forest: TraceForest;
  readonly nowMs: number;
  readonly selectedId: string | undefined;
  readonly onSelect: (spanId: string) => void;
  readonly view: ViewWindow | undefined;
  readonly onView: (next: ViewWindow | undefined) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const { colors = "service" } = route.useSearch();
  const navigate = route.useNavigate();
  const setColors = (next: FlameColors): void =>
    void navigate({
      search: (before) => ({ ...before, colors: next === "service" ? undefined : next }),
      replace: true,
    });
  const [text, setText] = useState("");
  const [pointed, setPointed] = useState<SpanNode>();
  const [activeId, setActiveId] = useState(selectedId ?? forest.root?.id);
  const [top, setTop] = useState(0);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const tokens = useTokens();
  const lengthMs = Math.max(0.001, forest.lengthMs, forest.isPending ? nowMs : 0);
  const range = view ?? { fromMs: 0, toMs: lengthMs };
  const { frames, laneCount } = useMemo(() => layOutFlame(forest, nowMs), [forest, nowMs]);
  const active = forest.byId.get(activeId ?? "") ?? forest.roots[0];

  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current !== null)
      drawFlame(canvas.current, {
        ...size,
        top,
        frames,
        view: range,
        forest,
        nowMs,
        colors,
        text,
        selectedId,
        activeId: active?.id,
        tokens,
      });
  });
  useEffect(() => {
    const frame = frames[active?.at ?? -1];
    const element = scroller.current;
    if (frame === undefined || element === null) return;
    const y = frame.lane * LANE;
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + LANE > element.scrollTop + element.clientHeight) element.scrollTop = y + LANE - element.clientHeight;
  }, [active, frames]);

  const frameAt = (event: PointerEvent): Frame | undefined => {
    const rect = canvas.current?.getBoundingClientRect();
    if (rect === undefined) return undefined;
    const lane = Math.floor((event.clientY - rect.top + top) / LANE);
    const ms = range.fromMs + ((event.clientX - rect.left) / rect.width) * (range.toMs - range.fromMs);
    const slack = ((range.toMs - range.fromMs) / rect.width) * 2;
    return frames.find((frame) => frame.lane === lane && frame.node.startMs - slack <= ms && frame.endMs + slack >= ms);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.metaKey || event.ctrlKey || event.altKey || active === undefined) return;
    const siblings = active.parent?.children ?? forest.roots;
    const at = siblings.indexOf(active);
    const go = (node: SpanNode | undefined): void => {
      if (node !== undefined) setActiveId(node.id);
    };
    const keys = new Map<string, () => void>([
      ["ArrowDown", () => go(active.children[0])],
      ["ArrowUp", () => go(active.parent)],
      ["ArrowRight", () => go(siblings[at + 1])],
      ["ArrowLeft", () => go(siblings[at - 1])],
      ["Home", () => go(forest.nodes[0])],
      ["End", () => go(forest.nodes.at(-1))],
      ["Enter", () => active.span !== undefined && onSelect(active.id)],
      ["+", () => onView(zoomed(range, 0.5, lengthMs))],
      ["=", () => onView(zoomed(range, 0.5, lengthMs))],
      ["-", () => onView(zoomed(range, 2, lengthMs))],
      ["0", () => onView(undefined)],
      ["<", () => onView(moved(range, -0.25, lengthMs))],
      [">", () => onView(moved(range, 0.25, lengthMs))],
    ]);
    const run = keys.get(event.key);
    if (run === undefined) return;
    event.preventDefault();
    run();
  };
  const described = pointed ?? active;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div
        role="toolbar"
        aria-label={t`Flame graph`}
        className="flex flex-wrap items-center gap-2 border-line border-b bg-surface px-3 py-1.5"
      >
        <SearchBox label={t`Find spans`} value={text} onChange={setText} className="w-44" />
        <label className="flex items-center gap-1.5 text-ink-2">
          {t`Colour by`}
          <select
            value={colors}
            onChange={(event) => setColors(event.target.value as FlameColors)}
            className="h-7 rounded-md border border-line bg-surface px-1.5 text-ink"
          >
            <option value="service">{t`service`}</option>
            <option value="status">{t`status`}</option>
            <option value="self">{t`self time`}</option>
          </select>
        </label>
        <Button
          disabled={described === undefined}
          onClick={() =>
            described !== undefined &&
            onView({ fromMs: described.startMs, toMs: Math.max(described.startMs + 0.001, endOf(described, nowMs)) })
          }
        >
          {t`Zoom to span`}
        </Button>
        <Button disabled={view === undefined} onClick={() => onView(undefined)}>
          {t`Reset zoom`}
        </Button>
        <span className="min-w-0 flex-1 truncate text-[12px] text-ink-2">
          {described === undefined ? "" : describe(described, nowMs)}
        </span>
      </div>
      <div className="h-6 shrink-0 border-line border-b bg-surface">
        <TimeRuler view={range} lengthMs={lengthMs} onView={onView} />
      </div>
      <div
        ref={scroller}
        className="relative min-h-0 flex-1 overflow-y-auto"
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      >
        <div style={{ height: Math.max(laneCount * LANE, size.height) }}>
          <canvas
            ref={canvas}
            aria-hidden
            className="sticky top-0 block w-full cursor-pointer"
            onPointerMove={(event) => setPointed(frameAt(event)?.node)}
            onPointerLeave={() => setPointed(undefined)}
            onClick={(event) => {
              const node = frameAt(event as unknown as PointerEvent)?.node;
              if (node === undefined) return;
              setActiveId(node.id);
              if (node.span !== undefined) onSelect(node.id);
            }}
          />
        </div>
        <FlameTree forest={forest} active={active} describe={(node) => describe(node, nowMs)} onKeyDown={onKeyDown} />
      </div>
    </div>
  );
}

function describe(node: SpanNode, nowMs: number): string {
  if (node.span === undefined) return t`missing parent ${node.id}`;
  const words = { ok: "OK", error: t`Error`, pending: t`Pending` }[node.status];
  return t`${node.name}, ${node.service}, ${duration(endOf(node, nowMs) - node.startMs)}, self time ${duration(selfTimeMs(node, nowMs))}, ${words}`;
}
