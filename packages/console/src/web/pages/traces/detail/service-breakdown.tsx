import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { t } from "../../../labels/translate.ts";
import type { TraceForest } from "../../../model/span-forest.ts";
import { type Column, DataTable, type Sort } from "../../../ui/data-table.tsx";
import { FilterTabs } from "../../../ui/filter-tabs.tsx";
import { ServiceSwatch } from "../../../ui/service-name.tsx";
import { Duration } from "../../../ui/time.tsx";
import { type ServiceStats, serviceStatsOf } from "../model/service-stats.ts";

const route = getRouteApi("/traces/{-$traceId}/{-$spanId}");
type Numbers = "count" | "errors" | "totalMs" | "selfMs" | "avgMs" | "p50Ms" | "p95Ms" | "p99Ms";

function timeColumn(key: Numbers, header: string, from?: number): Column<ServiceStats> {
  return {
    ...{ key, header, width: "5.5rem", align: "right", sortable: true },
    ...(from === undefined ? {} : { from }),
    cell: (row) => <Duration ms={row[key]} className="font-mono text-[12px]" />,
  };
}

/** Spans, durations and errors by service or by operation. A click shows the spans in the waterfall. */
export default function ServiceBreakdown({
  forest,
  nowMs,
  onOpen,
}: {
  readonly forest: TraceForest;
  readonly nowMs: number;
  readonly onOpen: (service: string, operation: string | undefined) => void;
}) {
  const { rows: by = "service" } = route.useSearch();
  const navigate = route.useNavigate();
  const [sort, setSort] = useState<Sort>({ key: "selfMs", dir: "desc" });
  const [activeKey, setActiveKey] = useState<string>();
  const rows = useMemo(() => sorted(serviceStatsOf(forest, by, nowMs), sort), [forest, by, nowMs, sort]);
  const columns: readonly Column<ServiceStats>[] = [
    {
      key: "service",
      header: by === "service" ? t`Service` : t`Operation`,
      width: "minmax(9rem,2fr)",
      sortable: true,
      cell: ({ service, operation }) => (
        <span className="flex min-w-0 items-center gap-2">
          <ServiceSwatch service={service} />
          <span className="truncate font-medium">{operation ?? service}</span>
          {operation !== undefined && <span className="truncate text-[11px] text-ink-3">{service}</span>}
        </span>
      ),
    },
    {
      key: "count",
      header: t`Spans`,
      width: "4.5rem",
      align: "right",
      sortable: true,
      cell: ({ count }) => count.toLocaleString("en-GB"),
    },
    timeColumn("avgMs", t`Average`),
    {
      key: "errors",
      header: t`Error rate`,
      width: "6.5rem",
      align: "right",
      sortable: true,
      cell: ({ errors, count }) => (
        <span className={errors > 0 ? "font-medium text-danger" : "text-ink-3"}>
          {((errors / count) * 100).toFixed(errors > 0 && errors < count ? 1 : 0)} %{errors > 0 && ` (${errors})`}
        </span>
      ),
    },
    timeColumn("totalMs", t`Total`, 640),
    timeColumn("selfMs", t`Self`, 640),
    timeColumn("p50Ms", "p50", 1100),
    timeColumn("p95Ms", "p95", 900),
    timeColumn("p99Ms", "p99", 1100),
  ];
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="border-line border-b px-3 py-1.5">
        <FilterTabs
          label={t`Rows`}
          tabs={[
            { value: "service", label: t`Services` },
            { value: "operation", label: t`Operations` },
          ]}
          value={by}
          onChange={(next) =>
            void navigate({
              search: (before) => ({ ...before, rows: next === "operation" ? next : undefined }),
              replace: true,
            })
          }
        />
      </div>
      <DataTable
        label={by === "service" ? t`Services of the trace` : t`Operations of the trace`}
        columns={columns}
        rows={rows}
        idOf={({ key }) => key}
        selectedId={activeKey}
        onSelect={({ key }) => setActiveKey(key)}
        onOpen={({ service, operation }) => onOpen(service, operation)}
        sort={sort}
        onSort={setSort}
      />
    </div>
  );
}

function sorted(rows: readonly ServiceStats[], { key, dir }: Sort): readonly ServiceStats[] {
  const sign = dir === "asc" ? 1 : -1;
  const textOf = (row: ServiceStats): string => `${row.operation ?? ""}\n${row.service}`;
  return [...rows].sort((a, b) => {
    if (key === "service") return sign * textOf(a).localeCompare(textOf(b));
    if (key === "errors") return sign * (a.errors / a.count - b.errors / b.count || a.errors - b.errors);
    return sign * (a[key as Numbers] - b[key as Numbers]);
  });
}
