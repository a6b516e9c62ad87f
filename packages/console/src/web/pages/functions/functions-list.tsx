import { ChevronDown, ChevronRight, CircleAlert, CircleCheck } from "lucide-react";
import { useMemo, useState } from "react";
import { t } from "../../labels/translate.ts";
import type { FunctionItem } from "../../model/functions.ts";
import { Badge } from "../../ui/badge.tsx";
import { cn } from "../../ui/cn.ts";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Ago } from "../../ui/time.tsx";
import {
  type FunctionRow,
  type Grouping,
  groupRows,
  nodesOf,
  STATUS_MEANINGS,
  STATUS_TONES,
  statusLabel,
  triggerSummary,
} from "./model.ts";
import type { StatsByFunction } from "./use-function-stats.ts";

/** The list of functions, in groups that can be collapsed. */
export function FunctionsList({
  items,
  modules,
  grouping,
  stats,
  selectedId,
  isSearching,
  onSelect,
}: {
  readonly items: readonly FunctionItem[];
  /** IDs of workers that are modules. */
  readonly modules: ReadonlySet<string>;
  readonly grouping: Grouping;
  readonly stats: StatsByFunction;
  readonly selectedId: string | undefined;
  /** True during a search. All groups are then open, so that each match is visible. */
  readonly isSearching: boolean;
  readonly onSelect: (functionId: string) => void;
}) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(
    () => groupRows(items, grouping, isSearching ? new Set() : closed, modules),
    [items, grouping, closed, isSearching, modules],
  );
  const hasNodes = items.some(({ workers }) => workers.some(({ node }) => node !== undefined));
  const columns = useMemo(
    () => columnsOf(stats, { isBesideDetail: selectedId !== undefined, hasNodes }),
    [stats, selectedId, hasNodes],
  );
  const toggle = (name: string): void => {
    const next = new Set(closed);
    if (!next.delete(name)) next.add(name);
    setClosed(next);
  };
  // If functions are grouped by worker, a function may be in several groups. Only its first row is shown as selected.
  const selectedRow = rows.find((row) => row.kind === "function" && row.item.function_id === selectedId);
  return (
    <DataTable
      label={t`Functions`}
      columns={columns}
      rows={rows}
      total={rows.length}
      idOf={rowId}
      selectedId={selectedRow === undefined ? undefined : rowId(selectedRow)}
      onSelect={(row) => row.kind === "function" && onSelect(row.item.function_id)}
      headingOf={(row) =>
        row.kind === "group" ? (
          <button
            type="button"
            aria-expanded={row.isOpen}
            disabled={isSearching}
            onClick={() => toggle(row.name)}
            className="-ml-1 flex h-6 min-w-0 items-center gap-1 rounded px-1 font-medium text-ink-2 hover:text-ink"
          >
            {row.isOpen ? (
              <ChevronDown aria-hidden className="size-3.5 shrink-0" />
            ) : (
              <ChevronRight aria-hidden className="size-3.5 shrink-0" />
            )}
            <span className="truncate">{row.name === "" ? t`(no prefix)` : row.name}</span>
            <span className="font-mono text-[11px] text-ink-3">{row.count}</span>
          </button>
        ) : undefined
      }
    />
  );
}

function rowId(row: FunctionRow): string {
  return row.kind === "group" ? `group ${row.name}` : `function ${row.group} ${row.item.function_id}`;
}

function columnsOf(
  stats: StatsByFunction,
  { isBesideDetail, hasNodes }: { readonly isBesideDetail: boolean; readonly hasNodes: boolean },
): readonly Column<FunctionRow>[] {
  const ofFunction = (show: (item: FunctionItem) => React.ReactNode) => (row: FunctionRow) =>
    row.kind === "function" ? show(row.item) : null;
  const id: Column<FunctionRow> = {
    key: "id",
    header: t`Function ID`,
    width: "minmax(8rem,2fr)",
    cell: ofFunction(({ function_id, description }) => (
      <span
        title={description === null ? function_id : `${function_id}: ${description}`}
        className="font-mono text-[12px]"
      >
        {function_id}
        {description !== null && <span className="ml-2 font-sans text-ink-3">{description}</span>}
      </span>
    )),
  };
  const triggers: Column<FunctionRow> = {
    key: "triggers",
    header: t`Triggers`,
    width: "minmax(4.5rem,0.7fr)",
    cell: ofFunction((item) => (
      <span className={item.triggers.length === 0 ? "text-ink-3" : undefined} title={triggerSummary(item.triggers)}>
        {triggerSummary(item.triggers)}
      </span>
    )),
  };
  const workers: Column<FunctionRow> = {
    key: "workers",
    header: t`Workers`,
    width: "minmax(6rem,0.8fr)",
    from: 640,
    cell: ofFunction(({ workers: all, worker_name }) => (
      <span title={all.map(({ name }) => name).join(", ")}>
        {worker_name}
        {all.length > 1 && <span className="text-ink-3"> + {all.length - 1}</span>}
      </span>
    )),
  };
  const nodes: Column<FunctionRow> = {
    key: "nodes",
    header: t`Node`,
    width: "minmax(3rem,6rem)",
    from: 560,
    cell: ofFunction((item) => {
      const names = nodesOf(item).join(", ");
      return <span title={names}>{names}</span>;
    }),
  };
  const status: Column<FunctionRow> = {
    key: "status",
    header: t`Status`,
    width: "5.5rem",
    cell: ofFunction((item) => (
      <Badge tone={STATUS_TONES[item.status] ?? "neutral"} title={STATUS_MEANINGS[item.status] ?? item.status}>
        {statusLabel(item.status)}
      </Badge>
    )),
  };
  const lastCall: Column<FunctionRow> = {
    key: "last",
    header: t`Last call`,
    width: "7rem",
    from: 900,
    cell: ofFunction(({ function_id }) => <LastCall stats={stats} functionId={function_id} />),
  };
  return [
    ...[id, triggers, workers],
    ...(hasNodes ? [nodes] : []),
    ...(isBesideDetail ? [status] : [status, lastCall]),
  ];
}

function LastCall({ stats, functionId }: { readonly stats: StatsByFunction; readonly functionId: string }) {
  const last = stats.byId.get(functionId)?.last_call;
  if (last === undefined || last === null) {
    return (
      <span
        className="text-ink-3"
        title={stats.error === null ? t`No call in the last 15 minutes` : stats.error.message}
      >
        {stats.loaded ? t`None` : "–"}
      </span>
    );
  }
  const isOk = last.status === "ok";
  const Icon = isOk ? CircleCheck : CircleAlert;
  return (
    <span className={cn("flex w-fit items-center gap-1", !isOk && "text-danger")}>
      <Icon aria-label={statusLabel(last.status)} className={isOk ? "size-3.5 text-ok" : "size-3.5"} />
      <Ago ms={last.at_ms} />
    </span>
  );
}
