import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { SavedViews } from "../../app/saved-views.tsx";
import { plural, t } from "../../labels/translate.ts";
import { useHotkey } from "../../lib/hotkeys.ts";
import { lazyExtra } from "../../lib/lazy-extra.ts";
import { isOfSeveral } from "../../model/trace-types.ts";
import { Button } from "../../ui/button.tsx";
import { DataRegion } from "../../ui/data-region.tsx";
import { ListDetail, useIsNarrow } from "../../ui/list-detail.tsx";
import { MissingNodes } from "../../ui/missing-nodes.tsx";
import { MoreTools } from "../../ui/more-tools.tsx";
import { Page } from "../../ui/page.tsx";
import { PauseButton } from "../../ui/pause-button.tsx";
import { TimeRange } from "../../ui/time-range.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { type LogSearch, searchOfChips } from "./filter-terms.ts";
import { FindBar } from "./find-bar.tsx";
import { Histogram, HistogramPlaceholder } from "./histogram.tsx";
import { StoredActions, ViewActions } from "./log-actions.tsx";
import { columnsOf, defaultColumns, lineOf } from "./log-columns.tsx";
import { LogList } from "./log-list.tsx";
import { findRows, rowsOf } from "./log-rows.ts";
import type { LogSession, SessionState } from "./log-session.ts";
import { DEFAULT_RANGE, useLogQuery } from "./use-log-query.ts";
import { useLogView } from "./use-log-view.ts";
import { useLogCounts, useLogSession } from "./use-logs.ts";

/** Loaded when the first entry is opened, because the code is large. */
const LogTabs = lazy(() => import("./log-tabs.tsx"));
const Breakdown = lazy(() => import("./breakdown.tsx"));

const NoLogs = lazy(() => import("./no-logs.tsx"));
const ColumnsButton = lazyExtra(() => import("../../ui/columns-button.tsx"));
const route = getRouteApi("/logs/{-$logId}");

export default function LogsPage() {
  const { logId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<LogSearch>): void =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true });
  const select = (id: string | undefined): void =>
    void navigate({ to: "/logs/{-$logId}", params: { logId: id }, search: true });

  const [epoch, setEpoch] = useState(0);
  const query = useLogQuery(search);
  const { session, state } = useLogSession(query, epoch);
  const [isFinding, setFinding] = useState(false);
  const view = useLogView(session, { selectedId: logId, isFinding });
  const counts = useLogCounts(query, view.isPaused, epoch);
  const isNarrow = useIsNarrow(1100);
  const [isPanelOpen, setPanelOpen] = useState(!isNarrow);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(
    () => rowsOf(view.logs, { grouped: search.group === true, open, marks: view.marks }),
    [view.logs, view.marks, search.group, open],
  );
  const hasNodes = isOfSeveral(state.from);
  const columns = useMemo(() => columnsOf(search.cols ?? defaultColumns(hasNodes)), [search.cols, hasNodes]);
  const find = useFind(rows, { session, state, isOpen: isFinding, setOpen: setFinding });
  useHotkey("mod+f", t`Find in the list`, find.open, t`Logs`);
  const container = useRef<HTMLDivElement>(null);
  const loadMore = useCallback(() => void session.loadMore(), [session]);
  const clearFilters = (): void =>
    change({ ...searchOfChips([]).search, q: undefined, from: undefined, to: undefined, range: undefined });
  const selected = logId === undefined ? undefined : session.buffer.find(logId);
  const toTop = (): void => {
    const grid = container.current?.querySelector('[role="grid"]');
    if (grid) grid.scrollTop = 0;
    view.setAtTop(true);
    view.release();
  };
  const isFiltered =
    query.hasFilters || search.from !== undefined || search.to !== undefined || search.range !== undefined;

  const list = (
    <div ref={container} className="relative flex min-h-0 flex-1 flex-col">
      {find.isOpen && (
        <FindBar
          text={find.text}
          onText={find.setText}
          count={find.matches.length}
          at={find.at}
          searched={session.buffer.size}
          isSearching={state.hasMore && state.error === undefined}
          isFull={state.isFull}
          onStep={find.step}
          onClose={find.close}
        />
      )}
      {state.missed > 0 && (
        <p role="status" className="bg-warn-soft px-4 py-1 text-warn">
          {t`The live view missed at least ${state.missed} entries, because they arrived too fast.`}{" "}
          <button type="button" className="underline" onClick={() => setEpoch((before) => before + 1)}>
            {t`Load them`}
          </button>
        </p>
      )}
      <DataRegion
        loading={!state.isLoaded && state.error === undefined && rows.length === 0}
        error={state.error}
        retry={() => void session.load()}
        empty={rows.length === 0}
        filtered={
          isFiltered
            ? { what: t`No stored log entry matches the filters and the time range.`, clear: clearFilters }
            : undefined
        }
        emptyState={
          <Suspense>
            <NoLogs disabled={state.disabled} />
          </Suspense>
        }
      >
        {view.isPaused && (
          <p role="status" className="bg-warn-soft px-4 py-1 text-warn">
            {t`Paused. ${view.fresh} new entries are buffered.`}
          </p>
        )}
        {!view.isPaused && view.fresh > 0 && (
          <Button
            look="primary"
            onClick={toTop}
            className="-translate-x-1/2 absolute top-9 left-1/2 z-20 rounded-full shadow-pop"
          >
            {t`${view.fresh} new`}
          </Button>
        )}
        <LogList
          rows={rows}
          columns={columns}
          selectedId={logId}
          onSelect={(id) => !id.startsWith("group-") && select(id)}
          onToggle={(id) => setOpen((before) => toggled(before, id))}
          wrap={search.wrap === true}
          find={find.isOpen ? find.text : ""}
          target={find.target}
          onTop={view.setAtTop}
          onEnd={loadMore}
          total={state.total ?? rows.length}
        />
        <Footer
          loaded={view.logs.length}
          total={counts.facets.data?.total ?? state.total}
          hasMore={state.hasMore}
          isLoading={state.isLoadingMore}
          onMore={loadMore}
        />
      </DataRegion>
    </div>
  );
  return (
    <Page
      title={t`Logs`}
      count={counts.facets.data?.total ?? state.total}
      controls={
        <div className="ml-auto flex flex-wrap items-center gap-1.5">
          <TimeRange value={search} fallback={DEFAULT_RANGE} onChange={change} />
          {query.isOpen && (
            <PauseButton
              isPaused={view.isPaused}
              waiting={view.isPaused ? view.fresh : 0}
              onChange={view.togglePause}
            />
          )}
          <MoreTools>
            <ViewActions
              isPanelOpen={isPanelOpen}
              onPanel={() => setPanelOpen(!isPanelOpen)}
              grouped={search.group === true}
              onGroup={() => change({ group: search.group === true ? undefined : true })}
              wrap={search.wrap === true}
              onWrap={() => change({ wrap: search.wrap === true ? undefined : true })}
              onFind={find.open}
              onClear={() => change({ from: Date.now(), to: undefined, range: undefined })}
            />
            <SavedViews page="logs" />
            <Suspense>
              <ColumnsButton all={defaultColumns(hasNodes)} shown={search.cols} onChange={(cols) => change({ cols })} />
            </Suspense>
            <StoredActions query={query} onDeleted={() => setEpoch((before) => before + 1)} />
          </MoreTools>
        </div>
      }
    >
      <FilterBar search={search} change={change} problems={query.problems} facets={counts.facets.data?.facets} />
      <MissingNodes names={state.from.missing} text={missingLogs} />
      {counts.histogram.isPending ? (
        <HistogramPlaceholder />
      ) : (
        counts.histogram.data !== undefined &&
        counts.histogram.data.total > 0 && (
          <Histogram
            buckets={counts.histogram.data.buckets}
            onRange={(from, to) => change({ from, to, range: undefined })}
          />
        )
      )}
      <div className="flex min-h-0 flex-1 max-[1099px]:flex-col">
        {isPanelOpen && (
          <aside
            aria-label={t`Source breakdown`}
            className="w-56 shrink-0 overflow-auto border-line border-r bg-surface max-[1099px]:max-h-56 max-[1099px]:w-full max-[1099px]:border-r-0 max-[1099px]:border-b"
          >
            <h2 className="sr-only">{t`Source breakdown`}</h2>
            {counts.facets.error !== null && counts.facets.data === undefined ? (
              <p role="alert" className="p-3 text-danger">
                {counts.facets.error.message}
              </p>
            ) : (
              <Suspense fallback={null}>
                <Breakdown facets={counts.facets.data?.facets ?? {}} search={search} change={change} />
              </Suspense>
            )}
          </aside>
        )}
        <ListDetail
          id="logs"
          list={list}
          title={
            (selected === undefined ? undefined : lineOf(selected.body).slice(0, 120)) ??
            (logId === undefined ? "" : t`Entry ${logId}`)
          }
          detail={
            logId === undefined ? undefined : (
              <Suspense fallback={null}>
                <LogTabs
                  key={logId}
                  id={logId}
                  known={selected}
                  onColumn={(key) => change({ cols: withColumn(search.cols ?? defaultColumns(hasNodes), key) })}
                />
              </Suspense>
            )
          }
          onClose={() => select(undefined)}
        />
      </div>
    </Page>
  );
}

/** Returns a text that names the engines that did not answer. */
function missingLogs(count: number, names: string): string {
  return plural(
    count,
    "{0} did not answer: its log entries are missing.",
    "{0} did not answer: their log entries are missing.",
    names,
  );
}

function withColumn(current: readonly string[], key: string): string[] {
  if (current.includes(key)) return [...current];
  const at = current.indexOf("message");
  return at < 0 ? [...current, key] : [...current.slice(0, at), key, ...current.slice(at)];
}

function toggled(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(id)) next.add(id);
  return next;
}

/**
 * Returns the state of the search in the list: the matching rows and the current match. While the search is open, older
 * entries are loaded.
 */
function useFind(
  rows: Parameters<typeof findRows>[0],
  parts: {
    readonly session: LogSession;
    readonly state: SessionState;
    readonly isOpen: boolean;
    readonly setOpen: (isOpen: boolean) => void;
  },
) {
  const { session, state, isOpen, setOpen } = parts;
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [target, setTarget] = useState<{ readonly index: number }>();
  const wanted = useDeferredValue(isOpen ? text : "");
  const matches = useMemo(() => findRows(rows, wanted), [rows, wanted]);
  const searchesOn = wanted !== "" && state.hasMore && !state.isLoadingMore && state.error === undefined;
  useEffect(() => {
    if (searchesOn) void session.loadMore();
  }, [searchesOn, session]);
  const show = (next: number): void => {
    setAt(next);
    const index = matches[next];
    if (index !== undefined) setTarget({ index });
  };
  return {
    isOpen,
    text,
    matches,
    at: Math.min(at, Math.max(0, matches.length - 1)),
    target,
    open: () => setOpen(true),
    close: () => setOpen(false),
    setText(next: string) {
      setText(next);
      setAt(-1);
    },
    step: (by: number) => matches.length > 0 && show((at + by + matches.length) % matches.length),
  };
}

function Footer({
  loaded,
  total,
  hasMore,
  isLoading,
  onMore,
}: {
  readonly loaded: number;
  readonly total: number | undefined;
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly onMore: () => void;
}) {
  return (
    <div className="flex h-7 shrink-0 items-center gap-2 border-line border-t bg-surface px-4 text-[12px] text-ink-3">
      <span>{total !== undefined && total > loaded ? t`${loaded} loaded of ${total}` : t`${loaded} loaded`}</span>
      {isLoading && <span role="status">{t`Loading older entries…`}</span>}
      {hasMore && !isLoading && (
        <Button look="ghost" className="h-5 text-[12px]" onClick={onMore}>
          {t`Load older entries`}
        </Button>
      )}
    </div>
  );
}
