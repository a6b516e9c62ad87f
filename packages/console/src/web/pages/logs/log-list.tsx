import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown, ChevronRight, CirclePause } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef } from "react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { Badge } from "../../ui/badge.tsx";
import { cn } from "../../ui/cn.ts";
import { Timestamp } from "../../ui/time.tsx";
import { useWidth } from "../../ui/use-width.ts";
import type { LogColumn } from "./log-columns.tsx";
import type { LogRow } from "./log-rows.ts";

const OVERSCAN = 10;
/** Height of the header, in pixels. */
const HEADER = 30;

export interface LogListProps {
  readonly rows: readonly LogRow[];
  readonly columns: readonly LogColumn[];
  readonly selectedId: string | undefined;
  readonly onSelect: (id: string) => void;
  readonly onToggle: (groupId: string) => void;
  readonly wrap: boolean;
  readonly find: string;
  /** Row to which the list scrolls. It scrolls each time the object changes. */
  readonly target: { readonly index: number } | undefined;
  readonly onTop: (isAtTop: boolean) => void;
  readonly onEnd: () => void;
  readonly total: number;
}

/** Virtualized list of log entries. Arrow keys, j, k, Home, End, Page Up and Page Down move the selection. */
export function LogList({
  rows,
  columns,
  selectedId,
  onSelect,
  onToggle,
  wrap,
  find,
  target,
  onTop,
  onEnd,
  total,
}: LogListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const width = useWidth(scroller);
  const rowHeight = document.documentElement.dataset.density === "compact" ? 22 : 28;
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    // The header covers a part of the area that the virtualizer considers visible.
    scrollPaddingEnd: HEADER,
    getItemKey: (at) => (rows[at] as LogRow).id,
  });
  const drawn = virtualizer.getVirtualItems();
  const lastDrawn = drawn.at(-1)?.index ?? -1;
  useEffect(() => {
    if (rows.length > 0 && lastDrawn >= rows.length - OVERSCAN) onEnd();
  }, [lastDrawn, rows.length, onEnd]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new target moves the list
  useEffect(() => {
    if (target !== undefined) virtualizer.scrollToIndex(target.index, { align: "center" });
  }, [target]);
  const isSelectedLoaded = selectedId !== undefined && rows.some(({ id }) => id === selectedId);
  // The list also scrolls when the detail opens beside or below it, because that makes the list smaller.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new selection moves the list
  useEffect(() => {
    const at = isSelectedLoaded ? rows.findIndex(({ id }) => id === selectedId) : -1;
    if (at >= 0) virtualizer.scrollToIndex(at, { align: "auto" });
  }, [selectedId, isSelectedLoaded]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: measured heights are invalid after these change
  useEffect(() => virtualizer.measure(), [wrap, rowHeight]);
  const shown = columns.filter(({ from }) => width >= from);
  const template = { gridTemplateColumns: shown.map(({ width }) => width).join(" ") };

  const onKeyDown = (event: KeyboardEvent): void => {
    const at = rows.findIndex((row) => row.kind !== "pause" && row.id === selectedId);
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 300) / rowHeight) - 2);
    const last = rows.length - 1;
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      j: at + 1,
      ArrowUp: at - 1,
      k: at - 1,
      Home: 0,
      End: last,
      PageDown: at + page,
      PageUp: at - page,
    };
    const to = moves[event.key];
    if (to === undefined || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    const step = to >= at && event.key !== "End" ? 1 : -1;
    let next = Math.min(Math.max(to, 0), last);
    while (rows[next]?.kind === "pause") next += step;
    const row = rows[next];
    if (row === undefined) return;
    onSelect(row.id);
    virtualizer.scrollToIndex(next, { align: "auto" });
  };

  return (
    // biome-ignore lint/a11y/useSemanticElements: a table element cannot be virtualized; the roles describe a table
    <div
      role="grid"
      aria-label={t`Log entries`}
      aria-rowcount={Math.max(total, rows.length) + 1}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onScroll={(event) => onTop(event.currentTarget.scrollTop < rowHeight / 2)}
      ref={scroller}
      className="relative min-h-0 flex-1 overflow-auto outline-offset-[-2px]"
    >
      {/* biome-ignore lint/a11y/useSemanticElements: see above */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus */}
      <div
        role="row"
        aria-rowindex={1}
        className="sticky top-0 z-10 grid min-w-full items-center gap-x-3 border-line border-b bg-surface px-4 font-medium text-[12px] text-ink-3"
        style={{ ...template, height: HEADER }}
      >
        {shown.map(({ key, header }) => (
          // biome-ignore lint/a11y/useSemanticElements: see above
          // biome-ignore lint/a11y/useFocusableInteractive: it does nothing
          <div key={key} role="columnheader" className="truncate">
            {header}
          </div>
        ))}
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: see above */}
      <div role="rowgroup" className="relative" style={{ height: virtualizer.getTotalSize() }}>
        {drawn.map((item) => {
          const row = rows[item.index] as LogRow;
          const isSelected = row.id === selectedId;
          return (
            // biome-ignore lint/a11y/useSemanticElements: see above
            // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
            // biome-ignore lint/a11y/useKeyWithClickEvents: the grid takes the keys
            <div
              key={item.key}
              ref={wrap ? virtualizer.measureElement : undefined}
              data-index={item.index}
              role="row"
              aria-rowindex={item.index + 2}
              aria-selected={row.kind === "pause" ? undefined : isSelected}
              onClick={() => {
                // A click that ends a text selection does not open the row.
                if (row.kind === "pause" || getSelection()?.isCollapsed === false) return;
                if (row.kind === "group") onToggle(row.id);
                else onSelect(row.id);
              }}
              className={cn(
                "absolute left-0 grid w-full gap-x-3 border-line/60 border-b px-4",
                wrap ? "items-start py-1" : "items-center",
                row.kind !== "pause" && "cursor-pointer hover:bg-hover",
                row.kind === "log" && row.isMember && "border-l-4 border-l-line",
                row.kind !== "pause" && row.log.fatal === true && "bg-danger-soft",
                row.kind === "pause" && "bg-warn-soft text-warn",
                isSelected && "bg-accent-soft hover:bg-accent-soft",
                find !== "" && item.index === target?.index && "outline-2 outline-warn outline-offset-[-2px]",
              )}
              style={{
                ...template,
                transform: `translateY(${item.start}px)`,
                ...(wrap ? { minHeight: rowHeight } : { height: rowHeight }),
              }}
            >
              {row.kind === "pause" ? (
                <PauseCell row={row} />
              ) : (
                <Cells row={row} columns={shown} find={find} wrap={wrap} onToggle={onToggle} />
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Cells({
  row,
  columns,
  find,
  wrap,
  onToggle,
}: {
  readonly row: Exclude<LogRow, { readonly kind: "pause" }>;
  readonly columns: readonly LogColumn[];
  readonly find: string;
  readonly wrap: boolean;
  readonly onToggle: (groupId: string) => void;
}) {
  return columns.map(({ key, cell }) => (
    // biome-ignore lint/a11y/useSemanticElements: as above
    // biome-ignore lint/a11y/useFocusableInteractive: as above
    <div key={key} role="gridcell" className={cn("min-w-0", wrap ? "whitespace-pre-wrap break-words" : "truncate")}>
      {key === "message" && row.kind === "group" && (
        <button
          type="button"
          aria-expanded={row.isOpen}
          onClick={(event) => {
            event.stopPropagation();
            onToggle(row.id);
          }}
          className="mr-2 inline-flex items-center rounded align-middle"
        >
          {row.isOpen ? (
            <ChevronDown aria-hidden className="size-4" />
          ) : (
            <ChevronRight aria-hidden className="size-4" />
          )}
          <Badge tone="accent">{t`${row.count} similar`}</Badge>
        </button>
      )}
      {cell(row.log, find)}
    </div>
  ));
}

function PauseCell({ row: { mark } }: { readonly row: Extract<LogRow, { readonly kind: "pause" }> }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: as above
    // biome-ignore lint/a11y/useFocusableInteractive: as above
    <div role="gridcell" className="col-span-full flex items-center gap-2 truncate">
      <CirclePause aria-hidden className="size-4 shrink-0" />
      <span>
        {rich`Paused ${<Timestamp ms={mark.fromMs} withMs={false} />} to ${<Timestamp ms={mark.toMs} withMs={false} />}: ${mark.received} received, ${mark.lost} dropped`}
      </span>
    </div>
  );
}
