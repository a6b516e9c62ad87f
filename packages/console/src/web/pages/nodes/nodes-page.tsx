import type { NodeListing, NodeReport } from "@svc-runtime/protocol/listings";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { t } from "../../labels/translate.ts";
import { usePolledCall } from "../../lib/use-polled-call.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Page } from "../../ui/page.tsx";
import { SearchBox } from "../../ui/search-box.tsx";
import { Ago } from "../../ui/time.tsx";
import { DrainAction } from "./drain-action.tsx";
import { behindOf, clockText, isClockApart, problemsOf, storesText } from "./model.ts";

const route = getRouteApi("/nodes");
const EVERY_MS = 2_000;

const STATES: Readonly<Record<NodeListing["state"], { readonly label: string; readonly tone: Tone }>> = {
  up: { label: t`Up`, tone: "ok" },
  draining: { label: t`Draining`, tone: "warn" },
  drained: { label: t`Drained`, tone: "warn" },
  silent: { label: t`Silent`, tone: "danger" },
  gone: { label: t`Gone`, tone: "danger" },
};

const NONE = <span className="text-ink-3">–</span>;

/** Returns a function that renders a cell from the engine's report. Without a report, the cell is empty. */
function reported(show: (report: NodeReport, node: NodeListing) => ReactNode): (node: NodeListing) => ReactNode {
  return (node) => (node.report === null ? NONE : show(node.report, node));
}

const mono = (text: string | number, className?: string): ReactNode => (
  <span className={`font-mono text-[12px] ${className ?? ""}`}>{text}</span>
);

/** `from` leaves room for all columns that are shown at this width. Exported for tests. */
export const COLUMNS: readonly Column<NodeListing>[] = [
  {
    ...{ key: "state", header: t`State`, width: "5rem" },
    cell: ({ state, reason }) => (
      <Badge tone={STATES[state].tone} {...(reason === null ? {} : { title: reason })}>
        {STATES[state].label}
      </Badge>
    ),
  },
  {
    ...{ key: "name", header: t`Name`, width: "minmax(6rem,1fr)" },
    cell: ({ name, self }) => (
      <span className="flex min-w-0 items-center gap-2">
        <span className="truncate font-medium">{name}</span>
        {self && <Badge title={t`This console is connected to it`}>{t`This engine`}</Badge>}
      </span>
    ),
  },
  {
    ...{ key: "address", header: t`Address for workers`, width: "minmax(9.5rem,1.5fr)", from: 1_040 },
    cell: reported(({ addresses }) => mono(addresses.bridge)),
  },
  {
    ...{ key: "http", header: t`HTTP API`, width: "minmax(9.5rem,1.5fr)", from: 1_360 },
    cell: reported(({ addresses }) => mono(addresses.http)),
  },
  { ...{ key: "version", header: t`Version`, width: "4rem", from: 1_190 }, cell: reported(({ version }) => version) },
  {
    ...{ key: "pid", header: t`PID`, width: "4rem", align: "right", from: 1_190 },
    cell: reported(({ pid }) => mono(pid)),
  },
  {
    ...{ key: "workers", header: t`Workers`, width: "4rem", align: "right", from: 430 },
    cell: reported(({ workers }) => mono(workers)),
  },
  {
    ...{ key: "calls", header: t`In flight`, width: "4.5rem", align: "right", from: 610 },
    cell: reported(({ calls_in_flight }) => mono(calls_in_flight)),
  },
  {
    ...{ key: "behind", header: t`Behind`, width: "4rem", align: "right", from: 530 },
    cell: (node) => {
      const behind = behindOf(node);
      return behind === undefined ? NONE : <span title={storesText(node)}>{mono(behind)}</span>;
    },
  },
  {
    ...{ key: "clock", header: t`Clock`, width: "4rem", align: "right", from: 780 },
    cell: reported(({ clock_offset_ms: ms }) => mono(clockText(ms), isClockApart(ms) ? "text-warn" : undefined)),
  },
  {
    ...{ key: "durability", header: t`Durability`, width: "5rem", from: 870 },
    cell: reported(({ durability }) =>
      durability === null ? (
        NONE
      ) : durability === "durable" ? (
        <Badge tone="ok">{t`Durable`}</Badge>
      ) : (
        <Badge tone="warn">{t`Relaxed`}</Badge>
      ),
    ),
  },
  {
    ...{ key: "since", header: t`Since`, width: "5rem", align: "right", from: 700 },
    cell: ({ gone_at_ms, report }) => {
      const ms = gone_at_ms ?? report?.started_at_ms;
      return ms === undefined ? NONE : <Ago ms={ms} />;
    },
  },
];

/** Exported for tests. */
export const DRAIN_COLUMN = { key: "drain", header: t`Drain`, width: "7rem" } as const;

/** The engines of the cluster, as the engine to which this console is connected sees them. */
export default function NodesPage(): ReactNode {
  const { q = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const search = (next: string): void => void navigate({ search: { q: next || undefined }, replace: true });
  const { data, error, isPending, refetch } = usePolledCall<{ readonly nodes: readonly NodeListing[] }>(
    "engine::nodes::list",
    [],
    () => ({}),
    { everyMs: EVERY_MS },
  );
  const all = data?.nodes ?? [];
  const nodes = all.filter(({ name }) => name.toLowerCase().includes(q.toLowerCase()));
  const [actionProblem, setActionProblem] = useState<string>();
  const problems = [...(actionProblem === undefined ? [] : [actionProblem]), ...nodes.flatMap(problemsOf)];
  // An engine that is in no cluster cannot pass its workers on to another one, so it cannot be drained.
  const isCluster = all.some(({ report }) => report === null || report.durability !== null);
  const columns = isCluster
    ? [
        ...COLUMNS,
        {
          ...DRAIN_COLUMN,
          cell: (node: NodeListing) => <DrainAction node={node} onDone={refetch} onProblem={setActionProblem} />,
        },
      ]
    : COLUMNS;
  return (
    <Page
      title={t`Nodes`}
      count={data === undefined ? undefined : nodes.length}
      controls={
        <>
          <span className="flex-1" />
          <SearchBox label={t`Search nodes`} value={q} onChange={search} />
        </>
      }
    >
      <DataRegion
        loading={isPending}
        error={error}
        empty={nodes.length === 0}
        filtered={all.length === 0 ? undefined : { what: t`No node matches “${q}”.`, clear: () => search("") }}
        retry={() => void refetch()}
        emptyState={<EmptyState title={t`No engine answered`} />}
      >
        {problems.length > 0 && (
          <ul className="border-line border-b bg-warn-soft px-4 py-2 text-warn">
            {problems.map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        )}
        <DataTable
          label={t`Nodes`}
          id="Nodes"
          columns={columns}
          rows={nodes}
          idOf={({ name, run }) => `${name} ${run}`}
          rowClass={({ state }) => (state === "gone" ? "text-ink-3" : undefined)}
        />
      </DataRegion>
    </Page>
  );
}
