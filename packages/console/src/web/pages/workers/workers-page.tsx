import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { useLiveCollection } from "../../lib/use-live.ts";
import { Badge } from "../../ui/badge.tsx";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Page } from "../../ui/page.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { ListDetail } from "../../ui/split.tsx";
import { Ago } from "../../ui/time.tsx";

/** A worker as `svc.workers` tells of it. */
export interface Worker {
  readonly id: string;
  readonly name: string;
  readonly runtime: string;
  readonly version: string | null;
  readonly pid: number | null;
  readonly internal: boolean;
  readonly status: string;
  readonly connected_at_ms: number;
  readonly function_count: number;
  readonly active_invocations: number;
}

const route = getRouteApi("/workers/{-$workerId}");

const columns: readonly Column<Worker>[] = [
  { key: "status", header: "Status", width: "7rem", cell: ({ status }) => <Badge tone="ok">{status}</Badge> },
  { key: "name", header: "Name", width: "minmax(10rem,2fr)", sortable: true, cell: ({ name }) => <span className="font-medium">{name}</span> },
  { key: "runtime", header: "Runtime", width: "minmax(6rem,1fr)", from: 640, cell: ({ runtime, version }) => `${runtime} ${version ?? ""}` },
  { key: "functions", header: "Functions", width: "5.5rem", align: "right", cell: ({ function_count }) => function_count },
  { key: "in_flight", header: "In flight", width: "5.5rem", align: "right", from: 900, cell: ({ active_invocations }) => active_invocations },
  { key: "since", header: "Connected", width: "7rem", from: 640, cell: ({ connected_at_ms }) => <Ago ms={connected_at_ms} /> },
];

export default function WorkersPage(): ReactNode {
  const { workerId } = route.useParams();
  const { q = "", system = false } = route.useSearch();
  const navigate = route.useNavigate();
  const workers = useLiveCollection<Worker>("svc.workers", (worker) => worker.id);
  const visible = useMemo(
    () => workers.items.filter((worker) => (system || !worker.internal) && worker.name.toLowerCase().includes(q.toLowerCase())),
    [workers.items, q, system],
  );
  const selected = workers.items.find(({ id }) => id === workerId);
  const list = (
    <DataRegion
      loading={!workers.loaded}
      empty={visible.length === 0}
      filtered={
        q === "" ? undefined : { what: `No worker's name contains “${q}”.`, clear: () => void navigate({ search: (before) => ({ ...before, q: undefined }) }) }
      }
      emptyState={
        <EmptyState title="No worker is connected" snippet={"svc worker add ./workers/my-worker"}>
          A worker is a process that connects to the engine and registers functions.
        </EmptyState>
      }
    >
      <DataTable
        label="Workers"
        columns={columns}
        rows={visible}
        idOf={({ id }) => id}
        selectedId={workerId}
        onSelect={({ id }) => void navigate({ to: "/workers/{-$workerId}", params: { workerId: id }, search: true })}
      />
    </DataRegion>
  );
  return (
    <Page
      title="Workers"
      count={workers.loaded ? visible.length : undefined}
      controls={
        <SearchBox
          label="Search workers"
          value={q}
          onChange={(next) => void navigate({ search: (before) => ({ ...before, q: next || undefined }), replace: true })}
          className="ml-auto"
        />
      }
    >
      <ListDetail
        id="workers"
        list={list}
        title={selected?.name ?? workerId ?? ""}
        detail={
          workerId === undefined ? undefined : selected === undefined ? (
            <p className="p-4">This worker is not connected.</p>
          ) : (
            <pre className="p-4">{JSON.stringify(selected, undefined, 2)}</pre>
          )
        }
        onClose={() => void navigate({ to: "/workers/{-$workerId}", params: { workerId: undefined }, search: true })}
      />
    </Page>
  );
}
