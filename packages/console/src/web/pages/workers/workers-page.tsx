import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useMemo } from "react";
import { usePlace } from "../../app/use-place.ts";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { countChanges } from "../../lib/count-changes.ts";
import { typescriptWorker } from "../../model/example-commands.ts";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { DataTable } from "../../ui/data-table.tsx";
import { FilterTabs } from "../../ui/filter-tabs.tsx";
import { ListDetail } from "../../ui/list-detail.tsx";
import { Page } from "../../ui/page.tsx";
import { PauseButton } from "../../ui/pause-button.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { usePause } from "../../ui/use-pause.ts";
import { useWorkerLines, useWorkerRows } from "./use-worker-rows.ts";
import { workerColumns } from "./worker-columns.tsx";
import { matches, type RowStatus, sortRows, type WorkerRow } from "./worker-rows.ts";

const WorkerDetail = lazy(() => import("./worker-detail.tsx"));

const route = getRouteApi("/workers/{-$workerId}");

/** Returns true if both rows are the same. Metrics are ignored, because they change all the time. */
function isSameRow(a: WorkerRow, b: WorkerRow): boolean {
  return a.status === b.status && a.state === b.state && a.worker === b.worker;
}

export default function WorkersPage(): ReactNode {
  const { workerId } = route.useParams();
  const { q = "", runtime, status, system = false, sort = "name", dir = "asc" } = route.useSearch();
  const navigate = route.useNavigate();
  const place = usePlace();
  const { loaded, areAllLoaded, rows: rowsNow, error, metricsProblem } = useWorkerRows();
  const {
    shown: { rows, lines },
    ...pause
  } = usePause({ rows: rowsNow, lines: useWorkerLines() }, areAllLoaded);
  const isBeside = workerId !== undefined;
  const hasNodes = rows.some(({ worker }) => worker?.node !== undefined);
  const columns = useMemo(() => workerColumns(lines, { isBeside, hasNodes }), [lines, isBeside, hasNodes]);
  const searched = rows.filter((row) => matches(row, { q, runtime, status: undefined, system }));
  const visible = sortRows(
    searched.filter((row) => status === undefined || row.status === status),
    sort,
    dir,
  );
  const visibleNow = rowsNow.filter((row) => matches(row, { q, runtime, status, system }));
  const runtimes = [
    ...new Set(
      rows
        .filter(({ worker }) => worker !== undefined && (system || !worker.internal))
        .map(({ worker }) => worker?.runtime as string),
    ),
  ];
  // Details are found in the current rows, so that they stay live while the list is paused.
  const selected = rowsNow.find(({ id }) => id === workerId);
  const search = (change: Partial<ReturnType<typeof route.useSearch>>): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const select = (id: string | undefined): void =>
    void navigate({ to: "/workers/{-$workerId}", params: { workerId: id }, search: true });
  const filters = [q === "" ? undefined : `“${q}”`, runtime, status].filter((part) => part !== undefined);
  const countOf = (wanted: RowStatus): number => searched.filter((row) => row.status === wanted).length;
  const list = (
    <DataRegion
      loading={!loaded}
      error={error}
      empty={visible.length === 0}
      filtered={
        filters.length === 0
          ? undefined
          : {
              what: t`No worker matches ${filters.join(" and ")}.`,
              clear: () => search({ q: undefined, runtime: undefined, status: undefined }),
            }
      }
      emptyState={
        <EmptyState title={t`No worker is connected`} snippet={typescriptWorker(place)}>
          {t`A worker is a process that connects to the engine and registers functions.`}
        </EmptyState>
      }
    >
      <DataTable
        label={t`Workers`}
        columns={columns}
        rows={visible}
        idOf={({ id }) => id}
        selectedId={workerId}
        onSelect={({ id }) => select(id)}
        sort={{ key: sort, dir }}
        onSort={(next) =>
          search({ sort: next.key === "name" ? undefined : next.key, dir: next.dir === "asc" ? undefined : next.dir })
        }
        rowClass={(row) => (row.status === "gone" || row.status === "down" ? "text-ink-3" : undefined)}
      />
    </DataRegion>
  );
  return (
    <Page
      title={t`Workers`}
      titleLink={
        <Link to="/workers/{-$workerId}" params={{ workerId: undefined }} search={true} className="hover:underline">
          {t`Workers`}
        </Link>
      }
      subject={selected?.name}
      count={loaded ? visible.length : undefined}
      controls={
        <>
          <FilterTabs
            label={t`Status`}
            value={status ?? "all"}
            onChange={(next) => search({ status: next === "all" ? undefined : next })}
            tabs={[
              { value: "all", label: t`All`, count: loaded ? searched.length : undefined },
              { value: "connected", label: t`Connected`, count: loaded ? countOf("connected") : undefined },
              ...(countOf("running") > 0 || status === "running"
                ? [{ value: "running", label: t`Running`, count: loaded ? countOf("running") : undefined }]
                : []),
              { value: "gone", label: t`Disconnected`, count: loaded ? countOf("gone") : undefined },
              { value: "down", label: t`Down`, count: loaded ? countOf("down") : undefined },
            ]}
          />
          <span className="flex-1" />
          {metricsProblem !== undefined && (
            <span className="text-warn">{t`CPU and memory are unavailable: ${metricsProblem}`}</span>
          )}
          <label className="flex items-center gap-1.5 text-ink-2">
            {t`Runtime`}
            <select
              className="h-7 rounded-md border border-line-strong/60 bg-surface px-1.5 text-ink"
              value={runtime ?? ""}
              onChange={(event) => search({ runtime: event.target.value || undefined })}
            >
              <option value="">{t`All`}</option>
              {[...new Set([...runtimes, ...(runtime === undefined ? [] : [runtime])])].map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <label
            className="flex items-center gap-1.5 text-ink-2"
            title={t`Show the engine's modules, consoles and CLI connections`}
          >
            <input
              type="checkbox"
              checked={system}
              onChange={(event) => search({ system: event.target.checked || undefined })}
            />
            {t`System`}
          </label>
          <PauseButton
            isPaused={pause.isPaused}
            waiting={countChanges(visible, visibleNow, ({ id }) => id, isSameRow)}
            onChange={pause.setPaused}
          />
          <SearchBox label={t`Search workers`} value={q} onChange={(next) => search({ q: next || undefined })} />
        </>
      }
    >
      <ListDetail
        id="workers"
        list={list}
        title={selected?.name ?? workerId ?? ""}
        detail={
          workerId === undefined ? undefined : selected !== undefined ? (
            <Suspense>
              <WorkerDetail row={selected} />
            </Suspense>
          ) : loaded ? (
            <EmptyState title={t`Worker not found`}>
              {rich`No worker with the ID ${<code className="break-all">{workerId}</code>} is connected or was connected while this page was open. A worker that reconnects gets a new ID.`}
            </EmptyState>
          ) : null
        }
        onClose={() => select(undefined)}
      />
    </Page>
  );
}
