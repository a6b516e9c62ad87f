import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { rich } from "../../../labels/rich.ts";
import { t } from "../../../labels/translate.ts";
import { call } from "../../../lib/api.ts";
import { windowOf } from "../../../lib/time-range.ts";
import { DataRegion, EmptyState } from "../../../ui/data-region.tsx";
import { type Column, DataTable } from "../../../ui/data-table.tsx";
import { Ago, Duration } from "../../../ui/time.tsx";
import { FALLBACK_RANGE, type TraceSearch } from "../model/list-query.ts";

interface TraceGroup {
  readonly value: string;
  readonly label: string;
  readonly trace_ids: readonly string[];
  readonly span_count: number;
  readonly first_seen_ms: number;
  readonly last_seen_ms: number;
  readonly duration_ms: number;
  readonly error_count: number;
}

/** Attributes by which traces can be grouped. */
export const GROUPS = [
  { attribute: "svc.function_id", label: t`Function` },
  { attribute: "session.id", label: t`Session` },
  { attribute: "messaging.message.id", label: t`Message` },
] as const;

const columns: readonly Column<TraceGroup>[] = [
  {
    key: "value",
    header: t`Value`,
    width: "minmax(10rem,3fr)",
    cell: ({ label }) => <span className="font-medium">{label}</span>,
  },
  { key: "traces", header: t`Traces`, width: "5rem", align: "right", cell: ({ trace_ids }) => trace_ids.length },
  { key: "spans", header: t`Spans`, width: "5rem", align: "right", from: 640, cell: ({ span_count }) => span_count },
  {
    key: "errors",
    header: t`Errors`,
    width: "5rem",
    align: "right",
    cell: ({ error_count }) => (
      <span className={error_count > 0 ? "font-medium text-danger" : "text-ink-3"}>
        {error_count.toLocaleString("en-GB")}
      </span>
    ),
  },
  { key: "first", header: t`First`, width: "7rem", from: 900, cell: ({ first_seen_ms }) => <Ago ms={first_seen_ms} /> },
  { key: "last", header: t`Last`, width: "7rem", from: 640, cell: ({ last_seen_ms }) => <Ago ms={last_seen_ms} /> },
  {
    key: "over",
    header: t`Period`,
    width: "6rem",
    align: "right",
    from: 900,
    cell: ({ duration_ms }) => <Duration ms={duration_ms} />,
  },
];

/** Groups of traces that have the same value of an attribute. A click on a group lists its traces. */
export function TraceGroups({
  attribute,
  search,
  onOpen,
  onClear,
}: {
  readonly attribute: string;
  readonly search: TraceSearch;
  readonly onOpen: (value: string) => void;
  readonly onClear: () => void;
}) {
  const query = useQuery({
    queryKey: ["trace-groups", attribute, search.range, search.from, search.system],
    queryFn: ({ signal }) => {
      const { startMs } = windowOf(search, FALLBACK_RANGE, Date.now());
      const payload = {
        attribute,
        limit: 1_000,
        include_internal: search.system === true,
        ...(startMs === undefined ? {} : { since_ms: startMs }),
      };
      return call<{ readonly groups: readonly TraceGroup[] }>("engine::traces::group_by", payload, { signal });
    },
    refetchInterval: 5_000,
  });
  const [activeValue, setActiveValue] = useState<string>();
  const groups = query.data?.groups ?? [];
  return (
    <DataRegion
      loading={query.isPending}
      error={query.error}
      retry={() => void query.refetch()}
      empty={groups.length === 0}
      filtered={{ what: t`No trace in this time range has the attribute ${attribute}.`, clear: onClear }}
      emptyState={<EmptyState title={t`No groups`} />}
    >
      <p className="border-line border-b px-4 py-1.5 text-ink-2">
        {rich`All traces in this time range with the attribute ${<code>{attribute}</code>}. Groups ignore the other filters and the end of the range.`}
      </p>
      <DataTable
        label={t`Groups of traces`}
        columns={columns}
        rows={groups}
        idOf={({ value }) => value}
        selectedId={activeValue}
        onSelect={({ value }) => setActiveValue(value)}
        onOpen={({ value }) => onOpen(value)}
      />
    </DataRegion>
  );
}
