import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { t } from "../../../labels/translate.ts";
import { criticalPath } from "../../../model/critical-path.ts";
import type { SpanNode, TraceForest } from "../../../model/span-forest.ts";
import { cn } from "../../../ui/cn.ts";
import { useIsNarrow } from "../../../ui/list-detail.tsx";
import { isFiltering, type SpanFilter, visibleRows } from "../model/visible-rows.ts";
import { Minimap } from "./minimap.tsx";
import { NameWidth } from "./name-width.tsx";
import { TimeRuler } from "./time-ruler.tsx";
import { moved, type ViewWindow, zoomed } from "./time-window.ts";
import { ROW_HEIGHT, SpanBar, SpanName } from "./waterfall-row.tsx";

const OVERSCAN = 10;
const HEADER = 24;

interface WaterfallProps {
  readonly forest: TraceForest;
  readonly nowMs: number;
  readonly filter: SpanFilter;
  readonly isCritical: boolean;
  readonly closed: ReadonlySet<string>;
  readonly onClosed: (next: ReadonlySet<string>) => void;
  readonly view: ViewWindow | undefined;
  readonly onView: (next: ViewWindow | undefined) => void;
  readonly selectedId: string | undefined;
  readonly onSelect: (spanId: string) => void;
}

/**
 * Tree of spans by start and duration. The arrow keys move, expand and collapse. Enter opens a span, and e moves to the
 * next error. The keys + - 0 change the zoom.
 */
export function Waterfall({
  forest,
  nowMs,
  filter,
  isCritical,
  closed,
  onClosed,
  view,
  onView,
  selectedId,
  onSelect,
}: WaterfallProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const isNarrow = useIsNarrow(640);
  const [nameWidth, setNameWidth] = useState(38);
  const [activeId, setActiveId] = useState(selectedId);
  const lengthMs = Math.max(0.001, forest.lengthMs, forest.isPending ? nowMs : 0);
  const range = view ?? { fromMs: 0, toMs: lengthMs };
  const rows = useMemo(() => visibleRows(forest, closed, filter, nowMs), [forest, closed, filter, nowMs]);
  const critical = useMemo(
    () => (isCritical && forest.root !== undefined ? criticalPath(forest.root, nowMs) : undefined),
    [isCritical, forest, nowMs],
  );
  const placeOf = useMemo(() => new Map(rows.map(({ node }, at) => [node.id, at])), [rows]);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    // The header covers a part of the area that the virtualizer considers visible.
    scrollPaddingEnd: HEADER,
    getItemKey: (at) => rows[at]?.node.id ?? at,
  });
  useReveal({ forest, closed, onClosed, selectedId, setActiveId, show: (id) => scrollTo(id) });
  const scrollTo = (id: string): boolean => {
    const at = placeOf.get(id);
    if (at === undefined) return false;
    virtualizer.scrollToIndex(at, { align: "auto" });
    return true;
  };
  const activate = (node: SpanNode | undefined): void => {
    if (node === undefined) return;
    setActiveId(node.id);
    scrollTo(node.id);
  };
  const toggle = (id: string, isClosed: boolean): void => {
    const next = new Set(closed);
    if (isClosed) next.add(id);
    else next.delete(id);
    onClosed(next);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const at = placeOf.get(activeId ?? "") ?? -1;
    const node = rows[at]?.node;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 320) / ROW_HEIGHT) - 2);
    const go = (to: number): void => activate(rows[Math.min(Math.max(to, 0), rows.length - 1)]?.node);
    const isClosed = node !== undefined && closed.has(node.id) && !isFiltering(filter);
    const keys = new Map<string, () => void>([
      ["ArrowDown", () => go(at + 1)],
      ["j", () => go(at + 1)],
      ["ArrowUp", () => go(at - 1)],
      ["k", () => go(at - 1)],
      ["Home", () => go(0)],
      ["End", () => go(rows.length - 1)],
      ["PageDown", () => go(at + page)],
      ["PageUp", () => go(at - page)],
      [
        "ArrowRight",
        () =>
          isClosed && node !== undefined
            ? toggle(node.id, false)
            : node !== undefined && node.children.length > 0 && go(at + 1),
      ],
      [
        "ArrowLeft",
        () =>
          node !== undefined && node.children.length > 0 && !isClosed && !isFiltering(filter)
            ? toggle(node.id, true)
            : activate(node?.parent),
      ],
      ["Enter", () => node?.span !== undefined && onSelect(node.id)],
      [
        "e",
        () =>
          activate(
            nextError(
              rows.map((row) => row.node),
              at,
            ),
          ),
      ],
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
    event.stopPropagation();
    run();
  };
  const template = { gridTemplateColumns: isNarrow ? "55% 45%" : `${nameWidth}% minmax(0,1fr)` };
  return (
    <div className="flex min-h-0 min-w-0 flex-1 flex-col">
      <Minimap forest={forest} nowMs={nowMs} lengthMs={lengthMs} view={range} onView={onView} />
      <div
        role="treegrid"
        aria-label={t`Spans`}
        aria-rowcount={rows.length + 1}
        aria-activedescendant={activeId !== undefined && placeOf.has(activeId) ? `span-${activeId}` : undefined}
        tabIndex={0}
        ref={scroller}
        onKeyDown={onKeyDown}
        onFocus={() => activeId === undefined && setActiveId(rows[0]?.node.id)}
        className="group relative min-h-0 flex-1 overflow-auto outline-offset-[-2px]"
      >
        {/* biome-ignore lint/a11y/useSemanticElements: a table cannot be virtualized; the roles replace it */}
        {/* biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus */}
        <div
          role="row"
          aria-rowindex={1}
          className="sticky top-0 z-10 grid border-line border-b bg-surface text-[12px] text-ink-3"
          style={{ ...template, height: HEADER }}
        >
          {/* biome-ignore lint/a11y/useSemanticElements: see above */}
          {/* biome-ignore lint/a11y/useFocusableInteractive: it has no action */}
          <div role="columnheader" className="relative flex items-center px-3 font-medium">
            {t`Span`}
            {!isNarrow && <NameWidth percent={nameWidth} onChange={setNameWidth} />}
          </div>
          {/* biome-ignore lint/a11y/useSemanticElements: see above */}
          {/* biome-ignore lint/a11y/useFocusableInteractive: it has no action */}
          <div role="columnheader" aria-label={t`Time`} className="mr-17">
            <TimeRuler view={range} lengthMs={lengthMs} onView={onView} />
          </div>
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: see above */}
        <div role="rowgroup" className="relative" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            const { node } = row;
            const isClosed = closed.has(node.id) && !isFiltering(filter);
            const parts = {
              row,
              forest,
              view: range,
              nowMs,
              isClosed,
              critical: critical?.get(node),
              onToggle: () => toggle(node.id, !isClosed),
            };
            return (
              // biome-ignore lint/a11y/useSemanticElements: see above
              // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
              // biome-ignore lint/a11y/useKeyWithClickEvents: the grid handles the keys
              <div
                key={item.key}
                id={`span-${node.id}`}
                role="row"
                aria-rowindex={item.index + 2}
                aria-level={node.depth + 1}
                aria-expanded={node.children.length === 0 ? undefined : !isClosed}
                aria-selected={node.id === selectedId}
                onClick={() => {
                  setActiveId(node.id);
                  if (node.span !== undefined) onSelect(node.id);
                  else toggle(node.id, !isClosed);
                }}
                className={cn(
                  "absolute left-0 grid w-full cursor-pointer border-line/50 border-b hover:bg-hover",
                  node.id === selectedId && "bg-accent-soft hover:bg-accent-soft",
                  node.id === activeId &&
                    "group-focus-visible:outline-2 group-focus-visible:outline-accent group-focus-visible:-outline-offset-2",
                )}
                style={{ ...template, height: ROW_HEIGHT, transform: `translateY(${item.start}px)` }}
              >
                {/* biome-ignore lint/a11y/useSemanticElements: see above */}
                {/* biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus */}
                <div role="gridcell" className="flex min-w-0 items-center border-line/50 border-r px-2">
                  <SpanName {...parts} />
                </div>
                {/* biome-ignore lint/a11y/useSemanticElements: see above */}
                {/* biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus */}
                <div role="gridcell" className="overflow-hidden">
                  <div className="relative mr-17 h-full">
                    <SpanBar {...parts} />
                  </div>
                </div>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function nextError(nodes: readonly SpanNode[], at: number): SpanNode | undefined {
  return nodes.slice(at + 1).find(({ status }) => status === "error") ?? nodes.find(({ status }) => status === "error");
}

/** Expands the ancestors of the selected span and scrolls to it. It does so once per selection. */
function useReveal(parts: {
  readonly forest: TraceForest;
  readonly closed: ReadonlySet<string>;
  readonly onClosed: (next: ReadonlySet<string>) => void;
  readonly selectedId: string | undefined;
  readonly setActiveId: (id: string) => void;
  readonly show: (id: string) => boolean;
}): void {
  const { forest, closed, onClosed, selectedId, setActiveId, show } = parts;
  const done = useRef<string>(undefined);
  useEffect(() => {
    if (selectedId === undefined || done.current === selectedId) return;
    const hidden: string[] = [];
    for (let up = forest.byId.get(selectedId)?.parent; up !== undefined; up = up.parent)
      if (closed.has(up.id)) hidden.push(up.id);
    if (hidden.length > 0) {
      onClosed(new Set([...closed].filter((id) => !hidden.includes(id))));
      return;
    }
    if (!show(selectedId)) return;
    done.current = selectedId;
    setActiveId(selectedId);
  });
}
