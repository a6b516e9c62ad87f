import { ChevronDown, ChevronRight, CircleAlert, LoaderCircle, Unplug } from "lucide-react";
import { t } from "../../../labels/translate.ts";
import { serviceColor } from "../../../lib/service-colors.ts";
import { duration } from "../../../lib/time.ts";
import type { Segment } from "../../../model/critical-path.ts";
import { endOf, type TraceForest } from "../../../model/span-forest.ts";
import { cn } from "../../../ui/cn.ts";
import type { Row } from "../model/visible-rows.ts";
import { shareOf, type ViewWindow } from "./time-window.ts";

/** Height of a row, in pixels. */
export const ROW_HEIGHT = 28;
const MAX_MARKS = 40;
const INDENT = 14;
/** Depth from which rows are not indented any further. */
const MAX_INDENTED = 24;

interface WaterfallRowProps {
  readonly row: Row;
  readonly forest: TraceForest;
  readonly view: ViewWindow;
  readonly nowMs: number;
  readonly isClosed: boolean;
  readonly critical: readonly Segment[] | undefined;
  readonly onToggle: () => void;
}

/** Name of a span. It is indented by its depth, and has a button that expands or collapses its children. */
export function SpanName({ row: { node, isContext }, isClosed, onToggle }: WaterfallRowProps) {
  return (
    <span
      className={cn("flex min-w-0 items-center gap-1", isContext && "opacity-60")}
      style={{ paddingLeft: Math.min(node.depth, MAX_INDENTED) * INDENT }}
    >
      {node.children.length > 0 ? (
        // The button is not in the tab order, because the arrow keys expand and collapse the row.
        <button
          type="button"
          tabIndex={-1}
          aria-label={
            isClosed
              ? t`Expand ${node.name}, ${node.children.length} below`
              : t`Collapse ${node.name}, ${node.children.length} below`
          }
          onClick={(event) => {
            event.stopPropagation();
            onToggle();
          }}
          className="flex h-6 shrink-0 items-center rounded text-ink-3 hover:bg-hover hover:text-ink"
        >
          {isClosed ? <ChevronRight aria-hidden className="size-4" /> : <ChevronDown aria-hidden className="size-4" />}
          <span className="min-w-4 pr-0.5 font-mono text-[10px]">{node.children.length}</span>
        </button>
      ) : (
        <span className="w-4 shrink-0" />
      )}
      {node.status === "error" && (
        <CircleAlert role="img" aria-label={t`error`} className="size-3.5 shrink-0 text-danger" />
      )}
      {node.status === "pending" && (
        <LoaderCircle role="img" aria-label={t`pending`} className="size-3.5 shrink-0 animate-spin text-info" />
      )}
      {node.span === undefined && <Unplug aria-hidden className="size-3.5 shrink-0 text-warn" />}
      <span className={cn("truncate", node.span === undefined ? "text-warn" : "font-medium")}>{node.name}</span>
      <span className="truncate text-[11px] text-ink-3">{node.span === undefined ? node.id : node.service}</span>
      {node.span?.node !== undefined && (
        <span title={t`Recorded by the engine ${node.span.node}`} className="shrink-0 text-[11px] text-ink-3">
          @{node.span.node}
        </span>
      )}
    </span>
  );
}

/** Bar of a span. It is red for an error. Events are marks, and the critical path is a dark line. */
export function SpanBar({ row: { node, isContext }, forest, view, nowMs, critical }: WaterfallRowProps) {
  if (node.span === undefined) return null;
  const end = endOf(node, nowMs);
  const [from, to] = [shareOf(node.startMs, view), shareOf(end, view)];
  const took = duration(end - node.startMs);
  if (to < 0 || from > 1)
    return (
      <span className={cn("absolute top-1/2 -translate-y-1/2 px-1 text-[11px] text-ink-3", from > 1 && "right-0")}>
        {to < 0 ? `‹ ${took}` : `${took} ›`}
      </span>
    );
  const left = Math.max(0, from);
  const right = Math.min(1, to);
  return (
    <>
      <span
        className={cn(
          "absolute top-1/2 h-3.5 -translate-y-1/2 rounded-[3px]",
          node.status === "error" && "bg-danger",
          node.status === "pending" && "rounded-r-none opacity-70",
          isContext && "opacity-40",
        )}
        style={{
          left: `${left * 100}%`,
          width: `max(2px, ${(right - left) * 100}%)`,
          ...(node.status === "error" ? {} : { background: serviceColor(node.service) }),
        }}
      />
      {critical?.map(({ fromMs, toMs }) => {
        const [start, stop] = [Math.max(0, shareOf(fromMs, view)), Math.min(1, shareOf(toMs, view))];
        if (stop <= start) return null;
        return (
          <span
            key={fromMs}
            className="absolute top-1/2 h-[3px] -translate-y-1/2 bg-ink"
            style={{ left: `${start * 100}%`, width: `max(1px, ${(stop - start) * 100}%)` }}
          />
        );
      })}
      {node.span.events.slice(0, MAX_MARKS).map((event, at) => {
        const share = shareOf(Number(BigInt(event.timestamp_unix_nano_text) - forest.startUnixNano) / 1e6, view);
        if (share < 0 || share > 1) return null;
        return (
          <span
            // biome-ignore lint/suspicious/noArrayIndexKey: events have no ids, and their order is fixed
            key={at}
            title={event.name}
            className="absolute top-1/2 h-4 w-px -translate-y-1/2 bg-ink-2"
            style={{ left: `${share * 100}%` }}
          />
        );
      })}
      <BarLabel right={right}>{node.endMs === undefined ? `${took} …` : took}</BarLabel>
    </>
  );
}

/** The duration, which is shown after the bar. At its right end, the time axis leaves room for it. */
function BarLabel({ right, children }: { readonly right: number; readonly children: string }) {
  return (
    <span
      className="pointer-events-none absolute top-1/2 -translate-y-1/2 whitespace-nowrap pl-1 font-mono text-[11px] text-ink-2"
      style={{ left: `${right * 100}%` }}
    >
      {children}
    </span>
  );
}
