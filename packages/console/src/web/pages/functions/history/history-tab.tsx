import type { InvocationListing } from "@svc-runtime/protocol/listings";
import { maskText } from "@svc-runtime/protocol/secrets";
import { useMemo } from "react";
import type { SearchOf } from "../../../app/search.ts";
import { rich } from "../../../labels/rich.ts";
import { t } from "../../../labels/translate.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { DataRegion, EmptyState } from "../../../ui/data-region.tsx";
import { type Column, DataTable } from "../../../ui/data-table.tsx";
import { INPUT } from "../../../ui/input-class.ts";
import { Duration, Timestamp } from "../../../ui/time.tsx";
import { statusLabel } from "../model.ts";
import { InvocationPane } from "./invocation-pane.tsx";
import { INVOCATION_TONES, useHistory } from "./use-history.ts";

const STATUSES: readonly InvocationListing["status"][] = ["ok", "error", "pending", "cancelled", "timeout"];
const SOURCES: readonly string[] = ["call", "http", "cron", "event", "queue", "state", "stream", "console", "cli"];

const columns: readonly Column<InvocationListing>[] = [
  {
    key: "at",
    header: t`Started`,
    width: "6.5rem",
    cell: ({ started_at_ms }) => <Timestamp ms={started_at_ms} className="tabular-nums" />,
  },
  {
    key: "status",
    header: t`Status`,
    width: "5rem",
    cell: ({ status }) => <Badge tone={INVOCATION_TONES[status]}>{statusLabel(status)}</Badge>,
  },
  {
    key: "duration",
    header: t`Duration`,
    width: "5rem",
    align: "right",
    cell: ({ duration_ms }) =>
      duration_ms === null ? <span className="text-ink-3">–</span> : <Duration ms={duration_ms} />,
  },
  { key: "source", header: t`Source`, width: "4rem", cell: ({ source }) => source },
  {
    key: "who",
    header: t`Caller or error`,
    width: "minmax(6rem,1fr)",
    from: 320,
    cell: ({ caller, error }) =>
      error == null ? (
        <span className="text-ink-2">{caller?.name ?? ""}</span>
      ) : (
        <span className="text-danger" title={`${error.code}: ${maskText(error.message)}`}>
          {error.code}: {maskText(error.message)}
        </span>
      ),
  },
];

/** Stored invocations of the function, from all sources of calls. */
export default function HistoryTab({
  functionId,
  search,
  onSearch,
}: {
  readonly functionId: string;
  readonly search: SearchOf<"functions">;
  readonly onSearch: (change: Partial<SearchOf<"functions">>) => void;
}) {
  const { status, source, inv, original } = search;
  const history = useHistory(functionId, status, source);
  const rows = useMemo(() => history.data?.pages.flatMap(({ invocations }) => invocations) ?? [], [history.data]);
  const at = rows.findIndex(({ invocation_id }) => invocation_id === inv);
  const filters = [
    status === undefined ? undefined : t`the status ${status}`,
    source === undefined ? undefined : t`the source ${source}`,
  ].filter(Boolean);
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex flex-wrap items-center gap-3 border-line border-b px-3 py-1.5 text-ink-2">
        <Select
          label={t`Status`}
          value={status}
          options={STATUSES}
          labelOf={statusLabel}
          onChange={(next) => onSearch({ status: next })}
        />
        <Select label={t`Source`} value={source} options={SOURCES} onChange={(next) => onSearch({ source: next })} />
        <span className="flex-1" />
        {history.data?.pages[0] !== undefined && (
          <span className="tabular-nums">
            {history.data.pages[0].total_is_lower_bound === true
              ? t`at least ${history.data.pages[0].total} stored`
              : t`${history.data.pages[0].total} stored`}
          </span>
        )}
      </div>
      <DataRegion
        className="min-h-40 flex-1"
        loading={history.data === undefined}
        error={history.error}
        retry={() => void history.refetch()}
        empty={rows.length === 0}
        filtered={
          filters.length === 0
            ? undefined
            : {
                what: t`No call has ${filters.join(" and ")}.`,
                clear: () => onSearch({ status: undefined, source: undefined }),
              }
        }
        emptyState={
          <EmptyState title={t`No calls stored`}>
            {t`Calls of this function from all sources are listed here.`}
          </EmptyState>
        }
      >
        <DataTable
          label={t`Invocations`}
          columns={columns}
          rows={rows}
          idOf={({ invocation_id }) => invocation_id}
          selectedId={inv}
          onSelect={({ invocation_id }) => onSearch({ inv: invocation_id, original: undefined })}
          onEnd={() => {
            if (history.hasNextPage && !history.isFetching) void history.fetchNextPage();
          }}
          total={history.data?.pages[0]?.total}
        />
      </DataRegion>
      {inv !== undefined && (
        <section aria-label={t`Invocation`} className="max-h-[60%] shrink-0 overflow-auto border-line border-t">
          <div className="sticky top-0 z-10 flex items-center gap-2 border-line border-b bg-surface px-3 py-1">
            <h3 className="min-w-0 flex-1 truncate font-medium">
              {rich`Invocation ${<code className="text-ink-2">{inv}</code>}`}
            </h3>
            <Button look="ghost" className="h-6" onClick={() => onSearch({ inv: undefined, original: undefined })}>
              {t`Close`}
            </Button>
          </div>
          <InvocationPane
            key={inv}
            invocationId={inv}
            functionId={functionId}
            originalId={original}
            previousId={at < 0 ? undefined : rows[at + 1]?.invocation_id}
            onEdit={() => onSearch({ tab: "invoke", inv: undefined, original: undefined })}
          />
        </section>
      )}
    </div>
  );
}

function Select(props: {
  readonly label: string;
  readonly value: string | undefined;
  readonly options: readonly string[];
  readonly labelOf?: (option: string) => string;
  readonly onChange: (value: string | undefined) => void;
}) {
  const { label, value, options, labelOf = String, onChange } = props;
  return (
    <label className="flex items-center gap-1.5">
      {label}
      <select className={INPUT} value={value ?? ""} onChange={(event) => onChange(event.target.value || undefined)}>
        <option value="">{t`Any`}</option>
        {[...new Set([...options, ...(value === undefined ? [] : [value])])].map((option) => (
          <option key={option} value={option}>
            {labelOf(option)}
          </option>
        ))}
      </select>
    </label>
  );
}
