import { TRACE_FIELDS } from "@svc-runtime/protocol/query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { GitCompare } from "lucide-react";
import { Suspense, useMemo, useState } from "react";
import { SavedViews } from "../../../app/saved-views.tsx";
import { usePlace } from "../../../app/use-place.ts";
import { rich } from "../../../labels/rich.ts";
import { plural, t } from "../../../labels/translate.ts";
import { attrParam } from "../../../lib/attr-param.ts";
import { lazyExtra } from "../../../lib/lazy-extra.ts";
import { useCompletion } from "../../../lib/use-completion.ts";
import { greet } from "../../../model/example-commands.ts";
import { isOfSeveral, type MergedFrom } from "../../../model/trace-types.ts";
import { Button } from "../../../ui/button.tsx";
import { DataRegion, EmptyState } from "../../../ui/data-region.tsx";
import { DataTable } from "../../../ui/data-table.tsx";
import { useIsNarrow } from "../../../ui/list-detail.tsx";
import { MissingNodes } from "../../../ui/missing-nodes.tsx";
import { MoreTools } from "../../../ui/more-tools.tsx";
import { Page } from "../../../ui/page.tsx";
import { PauseButton } from "../../../ui/pause-button.tsx";
import { SearchBox } from "../../../ui/search-box.tsx";
import { TimeRange } from "../../../ui/time-range.tsx";
import { FALLBACK_RANGE, filterText, NO_FILTERS, readFilters, type TraceSearch } from "../model/list-query.ts";
import { statusText } from "../model/live-rows.ts";
import { DurationFields } from "./duration-fields.tsx";
import { FacetsPlaceholder, FacetsRail } from "./facets-rail.tsx";
import { FilterChips } from "./filter-chips.tsx";
import { RetentionNote } from "./retention-note.tsx";
import { ChartsPlaceholder, TraceCharts } from "./trace-charts.tsx";
import { traceColumns } from "./trace-columns.tsx";
import { GROUPS, TraceGroups } from "./trace-groups.tsx";
import { isNotStored, TracesNotStored } from "./traces-not-stored.tsx";
import { type Traces, useTraceStats, useTraces } from "./use-traces.ts";

const ImportButton = lazyExtra(() => import("../../../app/import-button.tsx"));
const route = getRouteApi("/traces/{-$traceId}/{-$spanId}");
/** Scroll positions up to this one count as the top of the list, in pixels. */
const TOP = 8;

/** Facets, by the field whose values they have. */
const FACETS = { service: "service", worker: "service", function: "function_id", trigger: "trigger_type" };

const SOURCES = ["traces"] as const;

/** The list of traces with filters, facets and histograms, updated live. */
export default function TracesList() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [isPaused, setPaused] = useState(false);
  const [isAtTop, setAtTop] = useState(true);
  const [selected, setSelected] = useState<readonly string[]>([]);
  const [activeId, setActiveId] = useState<string>();
  const traces = useTraces(search, isPaused || !isAtTop);
  const { facets, histogram } = useTraceStats(search, isPaused, traces.changedAtMs);
  const total = totalOf(traces, facets);
  const complete = useCompletion({
    fields: TRACE_FIELDS,
    facets: facets.data?.facets,
    names: FACETS,
    sources: SOURCES,
  });
  const change = (next: Partial<TraceSearch>, replace = false): void =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace });
  const open = (traceId: string, compare?: string): void =>
    void navigate({
      to: "/traces/{-$traceId}/{-$spanId}",
      params: { traceId, spanId: undefined },
      search: (before) => ({ ...before, compare }),
    });
  const isNarrow = useIsNarrow(640);
  const longestMs = useMemo(
    () => Math.max(0.001, ...traces.rows.map(({ duration_ms }) => duration_ms ?? 0)),
    [traces.rows],
  );
  const columns = useMemo(
    () =>
      traceColumns({
        hasNodes: isOfSeveral(traces.from),
        longestMs,
        selected,
        isNarrow,
        onToggle: (id) =>
          setSelected((before) =>
            before.includes(id) ? before.filter((each) => each !== id) : [...before.slice(-1), id],
          ),
      }),
    [longestMs, selected, isNarrow, traces.from],
  );
  const problems = useMemo(() => readFilters(search, 0).problems, [search]);
  const filtered = filterText(search);
  return (
    <Page
      title={t`Traces`}
      count={traces.loaded ? total : undefined}
      controls={
        <>
          <SearchBox
            label={t`Filter traces, e.g. duration>1s`}
            complete={complete}
            value={search.q ?? ""}
            onChange={(q) => change({ q: q || undefined }, true)}
            className="min-w-48 flex-1"
          />
          <DurationFields search={search} onChange={change} />
          <TimeRange value={search} fallback={FALLBACK_RANGE} onChange={(range) => change(range)} />
          <PauseButton isPaused={isPaused} waiting={traces.waiting} onChange={setPaused} />
          <MoreTools>
            <GroupBy value={search.group} onChange={(group) => change({ group })} />
            <SavedViews page="traces" />
            <Suspense>
              <ImportButton isShort />
            </Suspense>
            <label className="flex items-center gap-1.5 text-ink-2" title={t`Show the engine's own traces`}>
              <input
                type="checkbox"
                checked={search.system === true}
                onChange={(event) => change({ system: event.target.checked || undefined })}
                className="size-4 accent-accent"
              />
              {t`System`}
            </label>
          </MoreTools>
        </>
      }
    >
      {problems.length > 0 && (
        <p role="status" className="border-line border-b bg-warn-soft px-4 py-1 text-warn">
          {problems.join(". ")}.
        </p>
      )}
      <MissingTraces latest={facets.data} first={traces.from} />
      <FilterChips search={search} onChange={change} />
      {isNotStored(traces.error) ? (
        <TracesNotStored />
      ) : search.group !== undefined ? (
        <TraceGroups
          attribute={search.group}
          search={search}
          onClear={() => change({ group: undefined, from: undefined, to: undefined, range: undefined })}
          onOpen={(value) => {
            const term = {
              kind: "field",
              field: `attr.${search.group}`,
              op: "equals",
              value,
              negated: false,
              off: false,
            } as const;
            change({ group: undefined, attr: [...(search.attr ?? []), attrParam(term)] });
          }}
        />
      ) : (
        <DataRegion
          loading={!traces.loaded}
          error={traces.error}
          retry={traces.retry}
          // If the search was cut short, traces may have been missed, so the list must not be called empty.
          empty={traces.rows.length === 0 && !traces.isCutShort}
          filtered={
            filtered === undefined
              ? undefined
              : { what: t`No trace matches ${filtered}.`, clear: () => change(NO_FILTERS) }
          }
          emptyState={<NoTraces />}
        >
          <div className="flex min-h-0 flex-1">
            {facets.isPending ? (
              <FacetsPlaceholder />
            ) : (
              facets.data !== undefined && <FacetsRail facets={facets.data.facets} search={search} onChange={change} />
            )}
            <div className="relative flex min-h-0 min-w-0 flex-1 flex-col">
              {histogram.isPending ? (
                <ChartsPlaceholder />
              ) : (
                histogram.data !== undefined && (
                  <TraceCharts
                    histogram={histogram.data}
                    onTime={(from, to) => change({ range: undefined, from, to })}
                    onDuration={(min, max) => change({ min, max })}
                  />
                )
              )}
              <CompareBar selected={selected} onCompare={open} onCancel={() => setSelected([])} />
              {traces.waiting > 0 && (
                <Button
                  look="primary"
                  className="-translate-x-1/2 absolute bottom-4 left-1/2 z-20 rounded-full shadow-pop"
                  onClick={traces.showWaiting}
                >
                  {t`Show ${traces.waiting} new or changed`}
                </Button>
              )}
              <div
                className="flex min-h-0 flex-1 flex-col"
                onScrollCapture={(event) => setAtTop((event.target as HTMLElement).scrollTop < TOP)}
              >
                <DataTable
                  label={t`Traces`}
                  columns={columns}
                  rows={traces.rows}
                  idOf={({ trace_id }) => trace_id}
                  selectedId={activeId}
                  onSelect={({ trace_id }) => setActiveId(trace_id)}
                  onOpen={({ trace_id }) => open(trace_id)}
                  sort={{ key: search.sort ?? "timestamp", dir: search.dir ?? "desc" }}
                  onSort={({ key, dir }) =>
                    change({ sort: key === "timestamp" ? undefined : key, dir: dir === "desc" ? undefined : dir })
                  }
                  total={total}
                  // If the search was cut short, it continues only on request of the user.
                  onEnd={traces.isCutShort ? undefined : traces.loadMore}
                />
                <ListStatus traces={{ ...traces, total }} />
              </div>
            </div>
          </div>
        </DataRegion>
      )}
    </Page>
  );
}

/** Says which engines did not answer the latest request. */
function MissingTraces({ latest, first }: { readonly latest: MergedFrom | undefined; readonly first: MergedFrom }) {
  return (
    <MissingNodes
      names={(latest ?? first).missing}
      text={(count, names) =>
        plural(
          count,
          "{0} did not answer: its traces are missing.",
          "{0} did not answer: their traces are missing.",
          names,
        )
      }
    />
  );
}

/**
 * Returns the number of matching traces. If it was counted for the current filters, that number is used, because the
 * list's own total does not change when traces are evicted.
 */
function totalOf(traces: Traces, facets: ReturnType<typeof useTraceStats>["facets"]): number {
  const counted = facets.isPlaceholderData ? undefined : facets.data?.total;
  return Math.max(counted ?? traces.total, traces.rows.length);
}

/** Shows how many rows are loaded. If the engine cut the search short, has a button that continues it. */
function ListStatus({ traces }: { readonly traces: Traces }) {
  return (
    <div className="flex flex-wrap items-center gap-2 border-line border-t px-4 py-1 text-[12px] text-ink-3">
      <p role="status">{statusText({ ...traces, shown: traces.rows.length })}</p>
      <RetentionNote />
      {traces.isCutShort && traces.loadMore !== undefined && (
        <Button onClick={traces.loadMore} title={t`Continue where the search stopped`}>
          {t`Continue search`}
        </Button>
      )}
    </div>
  );
}

function CompareBar({
  selected: [first, second],
  onCompare,
  onCancel,
}: {
  readonly selected: readonly string[];
  readonly onCompare: (first: string, second: string) => void;
  readonly onCancel: () => void;
}) {
  if (first === undefined) return null;
  return (
    <div className="flex items-center gap-2 border-line border-b bg-accent-soft px-4 py-1">
      <span className="flex-1">
        {second === undefined ? t`Select a second trace to compare` : t`Two traces selected`}
      </span>
      {second !== undefined && (
        <Button
          look="primary"
          icon={<GitCompare aria-hidden className="size-3.5" />}
          onClick={() => onCompare(first, second)}
        >
          {t`Compare`}
        </Button>
      )}
      <Button onClick={onCancel}>{t`Cancel`}</Button>
    </div>
  );
}

function GroupBy({
  value,
  onChange,
}: {
  readonly value: string | undefined;
  readonly onChange: (group: string | undefined) => void;
}) {
  const isOther = value !== undefined && !GROUPS.some(({ attribute }) => attribute === value);
  return (
    <label className="flex items-center gap-1.5 text-ink-2">
      <span className="max-sm:sr-only">{t`Group`}</span>
      <select
        aria-label={t`Group by`}
        value={value ?? ""}
        onChange={(event) => onChange(event.target.value || undefined)}
        className="h-7 rounded-md border border-line bg-surface px-1.5 text-ink"
      >
        <option value="">{t`None`}</option>
        {GROUPS.map(({ attribute, label }) => (
          <option key={attribute} value={attribute}>
            {label}
          </option>
        ))}
        {isOther && <option value={value}>{value}</option>}
      </select>
    </label>
  );
}

function NoTraces() {
  return (
    <EmptyState title={t`No traces yet`} snippet={greet(usePlace())}>
      {rich`A trace is one request with all the calls that it caused. Call a function, e.g. that of the ${(
        <Link to="/" className="text-accent underline">
          {t`first worker`}
        </Link>
      )}, or send a request, and its trace appears here within a second.`}
    </EmptyState>
  );
}
