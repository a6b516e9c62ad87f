import { getRouteApi, Link } from "@tanstack/react-router";
import { ArrowLeft } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { rich } from "../../../labels/rich.ts";
import { t } from "../../../labels/translate.ts";
import type { TraceForest } from "../../../model/span-forest.ts";
import { firstFailure, outcomeOf } from "../../../model/trace-outcome.ts";
import { Button } from "../../../ui/button.tsx";
import { DataRegion, EmptyState, SkeletonRows } from "../../../ui/data-region.tsx";
import { FilterTabs } from "../../../ui/filter-tabs.tsx";
import { ListDetail, useIsNarrow } from "../../../ui/list-detail.tsx";
import { Page } from "../../../ui/page.tsx";
import { ServiceLegend } from "../../../ui/service-name.tsx";
import { isNotStored, TracesNotStored } from "../list/traces-not-stored.tsx";
import type { TraceSearch } from "../model/list-query.ts";
import { isFiltering, type SpanFilter, visibleRows } from "../model/visible-rows.ts";
import { CompareDialog } from "./compare-dialog.tsx";
import type { ViewWindow } from "./time-window.ts";
import { TraceHeader } from "./trace-header.tsx";
import { TraceMap } from "./trace-map.tsx";
import { TraceNotes } from "./trace-notes.tsx";
import { useFoundSpans } from "./use-found-spans.ts";
import { useTrace } from "./use-trace.ts";
import { Waterfall } from "./waterfall.tsx";
import { WaterfallToolbar } from "./waterfall-toolbar.tsx";

const SpanPane = lazy(() => import("../span/span-pane.tsx"));
const FlameGraph = lazy(() => import("./flame-graph.tsx"));
const ServiceBreakdown = lazy(() => import("./service-breakdown.tsx"));
const TraceCompare = lazy(() => import("./trace-compare.tsx"));
const route = getRouteApi("/traces/{-$traceId}/{-$spanId}");
type View = "waterfall" | "flame" | "services" | "map" | "compare";
const VIEWS = [
  { value: "waterfall", label: t`Waterfall` },
  { value: "flame", label: t`Flame Graph` },
  { value: "services", label: t`Service Breakdown` },
  { value: "map", label: t`Trace Map` },
] as const;
/** Text in an address that stands for the id of the root span. */
const ROOT = "root";
const ALL_OPEN: ReadonlySet<string> = new Set();

/**
 * Search parameters of one trace, all undefined. Setting them leaves the parameters of the list in the address, so that
 * the way back leads to the same list.
 */
const NO_TRACE_PARAMS = {
  view: undefined,
  tab: undefined,
  compare: undefined,
  span: undefined,
  errors: undefined,
  least: undefined,
  part: undefined,
  critical: undefined,
  rows: undefined,
  colors: undefined,
  list: undefined,
  change: undefined,
} as const;

/** One trace. */
export default function TraceDetail({
  traceId,
  spanId,
}: {
  readonly traceId: string;
  readonly spanId: string | undefined;
}) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const trace = useTrace(traceId);
  const { forest, nowMs } = trace;
  const [isComparing, setComparing] = useState(false);
  const change = (next: Partial<TraceSearch>): void =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true });
  const select = (id: string | undefined): void =>
    void navigate({
      to: "/traces/{-$traceId}/{-$spanId}",
      params: { traceId, spanId: id },
      search: true,
      replace: spanId !== undefined,
    });
  // True if the address has no view or filter. Otherwise the page shows exactly what the address selects.
  const isPlain = (Object.keys(NO_TRACE_PARAMS) as (keyof typeof NO_TRACE_PARAMS)[]).every(
    (key) => search[key] === undefined || (key === "view" && search.view === "waterfall"),
  );
  useFirstSpan({
    ...{ forest, isComplete: trace.isComplete, spanId, isPlain },
    select: (id) => void navigate(selectionOf(traceId, id)),
  });
  const node = spanId === undefined ? undefined : forest?.byId.get(spanId);
  const view: View = search.compare === undefined ? (search.view ?? "waterfall") : "compare";
  const content = forest !== undefined && (
    <>
      <TraceHeader
        traceId={traceId}
        forest={forest}
        nowMs={nowMs}
        onCompare={() => setComparing(true)}
        onSelect={select}
      />
      <TraceNotes
        forest={forest}
        loaded={forest.spanCount}
        total={trace.isComplete ? forest.spanCount : trace.total}
        missing={trace.missing}
      />
      <div className="border-line border-b bg-surface px-3 py-1">
        <FilterTabs<View>
          label={t`View`}
          tabs={search.compare === undefined ? VIEWS : [...VIEWS, { value: "compare", label: t`Compare` }]}
          value={view}
          onChange={(next) =>
            change({
              view: next === "waterfall" || next === "compare" ? undefined : next,
              compare: next === "compare" ? search.compare : undefined,
            })
          }
        />
      </div>
      <Suspense fallback={<SkeletonRows rows={12} />}>
        <Views
          view={view}
          traceId={traceId}
          forest={forest}
          total={trace.total}
          nowMs={nowMs}
          search={search}
          spanId={spanId}
          onSearch={change}
          onSelect={select}
        />
      </Suspense>
    </>
  );
  return (
    <Page
      title={t`Traces`}
      subject={forest?.root?.name ?? traceId}
      controls={
        <Link
          to="/traces/{-$traceId}/{-$spanId}"
          params={{ traceId: undefined, spanId: undefined }}
          search={{ ...search, ...NO_TRACE_PARAMS }}
          className="inline-flex h-7 items-center gap-1.5 rounded-md px-2 text-ink-2 hover:bg-hover hover:text-ink"
        >
          <ArrowLeft aria-hidden className="size-4" />
          {t`All traces`}
        </Link>
      }
    >
      {isNotStored(trace.error) ? (
        <TracesNotStored />
      ) : (
        <DataRegion
          loading={forest === undefined}
          error={trace.error}
          retry={trace.retry}
          empty={forest !== undefined && forest.spanCount === 0}
          emptyState={
            <EmptyState title={t`Trace not found`}>
              {rich`${<code>{traceId}</code>} does not exist, or it was evicted. A trace that has just started appears here when its first span arrives.`}
            </EmptyState>
          }
        >
          <ListDetail
            id="trace"
            list={content}
            title={node?.name ?? spanId ?? ""}
            detail={
              spanId === undefined || forest === undefined ? undefined : node?.span === undefined ? (
                <p className="p-4 text-ink-2">
                  {trace.isComplete ? t`Span not found; it may not have arrived yet.` : t`Loading the span`}
                </p>
              ) : (
                <Suspense fallback={<SkeletonRows rows={6} />}>
                  <SpanPane
                    traceId={traceId}
                    node={node}
                    lean={node.span}
                    forest={forest}
                    nowMs={nowMs}
                    tab={search.tab}
                    onTab={(tab) => change({ tab: tab === "info" ? undefined : tab })}
                  />
                </Suspense>
              )
            }
            onClose={() => select(undefined)}
          />
        </DataRegion>
      )}
      {isComparing && (
        <CompareDialog
          traceId={traceId}
          name={forest?.root?.name ?? ""}
          onClose={() => setComparing(false)}
          onChoose={(compare) => {
            setComparing(false);
            change({ compare });
          }}
        />
      )}
    </Page>
  );
}

function selectionOf(traceId: string, spanId: string) {
  return {
    to: "/traces/{-$traceId}/{-$spanId}",
    params: { traceId, spanId },
    search: true,
    replace: true,
  } as const;
}

/**
 * Selects a span if the address names none. If the trace failed, it is the span that failed first. In an address,
 * `root` stands for the root span, because a link to a trace may not know the span's id. After the user closed a span,
 * none is selected.
 */
function useFirstSpan(parts: {
  readonly forest: TraceForest | undefined;
  readonly isComplete: boolean;
  readonly spanId: string | undefined;
  readonly isPlain: boolean;
  readonly select: (spanId: string) => void;
}): void {
  const { forest, isComplete, spanId, isPlain, select } = parts;
  // On a narrow screen, no span is selected, because it would cover the trace.
  const isNarrow = useIsNarrow();
  const isDone = useRef(spanId !== undefined && spanId !== ROOT);
  useEffect(() => {
    if (isDone.current || forest === undefined || !isComplete || forest.spanCount === 0) return;
    isDone.current = true;
    const isFailed = outcomeOf(forest).status === "error";
    const first = spanId === ROOT ? forest.root : isFailed && isPlain && !isNarrow ? firstFailure(forest) : undefined;
    if (first !== undefined) select(first.id);
  });
}

function Views({
  view,
  traceId,
  forest,
  total,
  nowMs,
  search,
  spanId,
  onSearch,
  onSelect,
}: {
  readonly view: View;
  readonly traceId: string;
  readonly forest: TraceForest;
  readonly total: number;
  readonly nowMs: number;
  readonly search: TraceSearch;
  readonly spanId: string | undefined;
  readonly onSearch: (change: Partial<TraceSearch>) => void;
  readonly onSelect: (spanId: string) => void;
}) {
  const [closed, setClosed] = useState(ALL_OPEN);
  const [zoom, setZoom] = useState<ViewWindow>();
  const found = useFoundSpans(traceId, view === "waterfall" ? (search.span ?? "") : "", total);
  const filter = useMemo<SpanFilter>(
    () => ({
      text: search.span ?? "",
      errorsOnly: search.errors === true,
      minMs: search.least,
      service: search.part,
      found: found.ids,
    }),
    [search.span, search.errors, search.least, search.part, found.ids],
  );
  const lengthMs = Math.max(0.001, forest.lengthMs, forest.isPending ? nowMs : 0);
  const matching = useMemo(
    () =>
      isFiltering(filter)
        ? visibleRows(forest, ALL_OPEN, filter, nowMs).filter(({ isContext }) => !isContext).length
        : undefined,
    [forest, filter, nowMs],
  );
  if (view === "flame")
    return (
      <>
        <ServiceLegend services={forest.services} />
        <FlameGraph
          forest={forest}
          nowMs={nowMs}
          selectedId={spanId}
          onSelect={onSelect}
          view={zoom}
          onView={setZoom}
        />
      </>
    );
  if (view === "services")
    return (
      <ServiceBreakdown
        forest={forest}
        nowMs={nowMs}
        onOpen={(part, operation) => onSearch({ view: undefined, part, span: operation })}
      />
    );
  if (view === "map")
    return <TraceMap forest={forest} nowMs={nowMs} onOpen={(part) => onSearch({ view: undefined, part })} />;
  if (view === "compare") return <TraceCompare traceId={traceId} otherId={search.compare ?? ""} onSelect={onSelect} />;
  return (
    <>
      <WaterfallToolbar
        forest={forest}
        search={search}
        onSearch={onSearch}
        onClosed={setClosed}
        view={zoom}
        lengthMs={lengthMs}
        onView={setZoom}
        shownText={
          matching === undefined
            ? ""
            : found.isSearching
              ? t`${matching} of ${forest.spanCount} match, searching attributes …`
              : t`${matching} of ${forest.spanCount} match`
        }
      />
      <DataRegion
        loading={matching === 0 && found.isSearching}
        error={found.error}
        retry={found.retry}
        empty={matching === 0}
        emptyState={
          <EmptyState title={t`No span matches`}>
            <Button onClick={() => onSearch({ span: undefined, errors: undefined, least: undefined, part: undefined })}>
              {t`Clear the filters`}
            </Button>
          </EmptyState>
        }
      >
        <ServiceLegend services={forest.services} />
        <Waterfall
          forest={forest}
          nowMs={nowMs}
          filter={filter}
          isCritical={search.critical === true}
          closed={closed}
          onClosed={setClosed}
          view={zoom}
          onView={setZoom}
          selectedId={spanId}
          onSelect={onSelect}
        />
      </DataRegion>
    </>
  );
}
