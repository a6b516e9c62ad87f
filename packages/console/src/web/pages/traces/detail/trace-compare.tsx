import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { CircleAlert, Equal, Minus, Plus, TrendingDown, TrendingUp } from "lucide-react";
import { useMemo, useState } from "react";
import { rich } from "../../../labels/rich.ts";
import { t } from "../../../labels/translate.ts";
import { call } from "../../../lib/api.ts";
import { duration } from "../../../lib/time.ts";
import type { CompareAnswer, ComparedRow, ComparedSide, TraceSummary } from "../../../model/trace-types.ts";
import { Badge, type Tone } from "../../../ui/badge.tsx";
import { DataRegion, EmptyState } from "../../../ui/data-region.tsx";
import { type Column, DataTable } from "../../../ui/data-table.tsx";
import { FilterTabs } from "../../../ui/filter-tabs.tsx";
import { Duration, Timestamp } from "../../../ui/time.tsx";
import { shortId } from "../list/trace-columns.tsx";

const CHANGES: Readonly<
  Record<ComparedRow["change"], { readonly label: string; readonly tone: Tone; readonly icon: typeof Plus }>
> = {
  added: { label: t`Added`, tone: "info", icon: Plus },
  removed: { label: t`Removed`, tone: "violet", icon: Minus },
  outcome: { label: t`Outcome`, tone: "danger", icon: CircleAlert },
  slower: { label: t`Slower`, tone: "danger", icon: TrendingUp },
  faster: { label: t`Faster`, tone: "ok", icon: TrendingDown },
  same: { label: t`Same`, tone: "neutral", icon: Equal },
};
const route = getRouteApi("/traces/{-$traceId}/{-$spanId}");
const TABS = ["all", "outcome", "slower", "faster", "added", "removed", "same"] as const;

/** Compares two traces by their structure: added, removed, slower and faster spans. */
export default function TraceCompare({
  traceId,
  otherId,
  onSelect,
}: {
  readonly traceId: string;
  readonly otherId: string;
  readonly onSelect: (spanId: string) => void;
}) {
  const query = useQuery({
    queryKey: ["trace-compare", traceId, otherId],
    queryFn: ({ signal }) => call<CompareAnswer>("engine::traces::compare", { a: traceId, b: otherId }, { signal }),
  });
  const { change: tab = "all" } = route.useSearch();
  const navigate = route.useNavigate();
  const setTab = (next: (typeof TABS)[number]): void =>
    void navigate({ search: (before) => ({ ...before, change: next === "all" ? undefined : next }), replace: true });
  const [activeAt, setActiveAt] = useState<string>();
  const all = useMemo(() => (query.data?.rows ?? []).map((row, at) => ({ ...row, id: String(at) })), [query.data]);
  const rows = tab === "all" ? all : all.filter(({ change }) => change === tab);
  const columns: readonly Column<ComparedRow & { readonly id: string }>[] = [
    {
      key: "path",
      header: t`Span`,
      width: "minmax(10rem,3fr)",
      cell: ({ path }) => (
        <span className="block truncate" title={path.join(" › ")} style={{ paddingLeft: (path.length - 1) * 12 }}>
          {path.at(-1)}
        </span>
      ),
    },
    { key: "a", header: t`This trace`, width: "6rem", align: "right", cell: ({ a }) => <SideCell side={a} /> },
    { key: "b", header: t`Other trace`, width: "6rem", align: "right", cell: ({ b }) => <SideCell side={b} /> },
    {
      key: "delta",
      header: t`Difference`,
      width: "6rem",
      align: "right",
      from: 640,
      cell: ({ delta_ms }) => <Delta ms={delta_ms} />,
    },
    {
      key: "change",
      header: t`Change`,
      width: "minmax(6rem,1fr)",
      cell: ({ change, a, b }) => {
        const { label, tone, icon: Icon } = CHANGES[change];
        return (
          <>
            <Badge tone={tone} icon={<Icon aria-hidden className="size-3" />}>
              {label}
            </Badge>
            {change === "outcome" && (
              <span className="ml-1.5 text-[12px]">
                {outcomeText(a)} → {outcomeText(b)}
              </span>
            )}
          </>
        );
      },
    },
  ];
  return (
    <DataRegion
      loading={query.isPending}
      error={query.error}
      retry={() => void query.refetch()}
      empty={all.length === 0}
      emptyState={<EmptyState title={t`Neither trace has spans`} />}
    >
      {query.data !== undefined && (
        <div className="grid gap-2 border-line border-b p-3 sm:grid-cols-2">
          <Side title={t`This trace`} summary={query.data.a} />
          <Side title={t`Other trace`} summary={query.data.b} />
        </div>
      )}
      <div className="border-line border-b px-3 py-1.5">
        <FilterTabs
          label={t`Changes`}
          value={tab}
          onChange={setTab}
          tabs={TABS.map((value) => ({
            value,
            label: value === "all" ? t`All` : CHANGES[value].label,
            count: value === "all" ? all.length : all.filter(({ change }) => change === value).length,
          }))}
        />
      </div>
      {query.data?.truncated === true && (
        <p className="bg-warn-soft px-4 py-1 text-warn">
          {t`The traces are too large to compare in full; showing the first rows.`}
        </p>
      )}
      <DataTable
        label={t`Differences`}
        columns={columns}
        rows={rows}
        idOf={({ id }) => id}
        selectedId={activeAt}
        onSelect={({ id }) => setActiveAt(id)}
        onOpen={({ id, a }) => {
          setActiveAt(id);
          if (a !== null) onSelect(a.span_id);
        }}
      />
    </DataRegion>
  );
}

function Side({ title, summary }: { readonly title: string; readonly summary: TraceSummary }) {
  return (
    <div className="min-w-0 rounded-md border border-line p-2">
      <p className="text-[11px] text-ink-3">{title}</p>
      <Link
        to="/traces/{-$traceId}/{-$spanId}"
        params={{ traceId: summary.trace_id, spanId: undefined }}
        search={{}}
        className="block truncate font-medium text-accent hover:underline"
      >
        {summary.root_name} <span className="font-mono text-[11px]">{shortId(summary.trace_id)}</span>
      </Link>
      <p className="text-[12px] text-ink-2">
        {summary.duration_ms === null ? t`running` : <Duration ms={summary.duration_ms} />}
        {rich`, ${summary.span_count} spans, ${summary.error_count} errors, at ${<Timestamp ms={summary.start_time_ms} as="date" />}`}
      </p>
    </div>
  );
}

function outcomeText(side: ComparedSide | null): string {
  return side === null ? "–" : (side.code ?? side.status);
}

function SideCell({ side }: { readonly side: ComparedSide | null }) {
  if (side === null) return <span className="text-ink-3">–</span>;
  return (
    <span className={side.status === "error" ? "font-medium text-danger" : undefined} title={side.code ?? side.status}>
      {side.duration_ms === null ? t`running` : <Duration ms={side.duration_ms} className="font-mono text-[12px]" />}
    </span>
  );
}

function Delta({ ms }: { readonly ms: number | null }) {
  if (ms === null) return <span className="text-ink-3">–</span>;
  return (
    <span className="font-mono text-[12px]" title={`${ms} ms`}>
      {ms > 0 ? "+" : ms < 0 ? "−" : "±"}
      {duration(Math.abs(ms))}
    </span>
  );
}
