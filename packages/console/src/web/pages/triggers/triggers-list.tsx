import { Link } from "@tanstack/react-router";
import {
  ChevronDown,
  ChevronRight,
  CircleAlert,
  CircleCheck,
  CirclePause,
  CircleSlash,
  Clock,
  Database,
  Globe,
  ListOrdered,
  Puzzle,
  Zap,
} from "lucide-react";
import { useMemo, useState } from "react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { useCronText } from "../../lib/cron-text.ts";
import { type Kind, kindOf, type TriggerItem } from "../../model/triggers.ts";
import { Badge } from "../../ui/badge.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Ago, useNow } from "../../ui/time.tsx";
import { LastRun } from "./last-run.tsx";
import { configText, httpMethod, httpPath, STATUS, sectionRows, summaryOf, type TriggerRow } from "./model.ts";
import type { CronTrigger, LastRuns } from "./use-triggers.ts";

/** Runs of the triggers: schedules for cron triggers, and the last run for all other triggers. */
export interface Runs {
  readonly crons: ReadonlyMap<string, CronTrigger> | undefined;
  readonly lastRuns: LastRuns;
}

const KIND_ICONS: Readonly<Record<Kind, typeof Clock>> = {
  http: Globe,
  cron: Clock,
  queue: ListOrdered,
  event: Zap,
  state: Database,
  other: Puzzle,
};
const STATUS_ICONS = { active: CircleCheck, inactive: CircleSlash, error: CircleAlert } as const;

/** The triggers in collapsible sections by kind. */
export function TriggersList({
  items,
  runs,
  selectedId,
  isSearching,
  onSelect,
}: {
  readonly items: readonly TriggerItem[];
  readonly runs: Runs;
  readonly selectedId: string | undefined;
  readonly isSearching: boolean;
  readonly onSelect: (triggerId: string) => void;
}) {
  const [closed, setClosed] = useState<ReadonlySet<Kind>>(new Set());
  const rows = useMemo(() => sectionRows(items, isSearching ? new Set() : closed), [items, closed, isSearching]);
  const columns = useMemo(() => columnsOf(runs, selectedId !== undefined), [runs, selectedId]);
  const toggle = (kind: Kind): void => {
    const next = new Set(closed);
    if (!next.delete(kind)) next.add(kind);
    setClosed(next);
  };
  return (
    <DataTable
      label={t`Triggers`}
      columns={columns}
      rows={rows}
      idOf={(row) => (row.row === "section" ? `section ${row.kind}` : row.trigger.id)}
      selectedId={selectedId}
      onSelect={(row) => row.row === "trigger" && onSelect(row.trigger.id)}
      headingOf={(row) =>
        row.row === "section" ? (
          <button
            type="button"
            aria-expanded={row.isOpen}
            disabled={isSearching}
            onClick={() => toggle(row.kind)}
            className="-ml-1 flex h-6 items-center gap-1 rounded px-1 font-medium text-ink-2 hover:text-ink"
          >
            {row.isOpen ? (
              <ChevronDown aria-hidden className="size-3.5" />
            ) : (
              <ChevronRight aria-hidden className="size-3.5" />
            )}
            {row.label}
            <span className="font-mono text-[11px] text-ink-3">{row.count}</span>
          </button>
        ) : undefined
      }
    />
  );
}

function columnsOf({ crons, lastRuns }: Runs, isBesideDetail: boolean): readonly Column<TriggerRow>[] {
  const ofTrigger = (show: (trigger: TriggerItem) => React.ReactNode) => (row: TriggerRow) =>
    row.row === "trigger" ? show(row.trigger) : null;
  const type: Column<TriggerRow> = {
    key: "type",
    header: t`Type`,
    width: "minmax(4.5rem,0.6fr)",
    cell: ofTrigger(({ trigger_type }) => {
      const Icon = KIND_ICONS[kindOf(trigger_type)];
      return (
        <span className="flex min-w-0 items-center gap-1.5" title={trigger_type}>
          <Icon aria-hidden className="size-3.5 shrink-0 text-ink-3" />
          <span className="truncate">{trigger_type}</span>
        </span>
      );
    }),
  };
  const config: Column<TriggerRow> = {
    key: "config",
    header: t`Path / Config`,
    width: "minmax(8rem,1.6fr)",
    cell: ofTrigger((trigger) => <Summary trigger={trigger} cron={crons?.get(trigger.id)} />),
  };
  const target: Column<TriggerRow> = {
    key: "function",
    header: t`Function`,
    width: "minmax(6rem,1fr)",
    from: 640,
    cell: ofTrigger(({ function_id }) => (
      <Link
        to="/functions/{-$functionId}"
        params={{ functionId: function_id }}
        onClick={(event) => event.stopPropagation()}
        className="font-mono text-[12px] text-accent hover:underline"
        title={function_id}
      >
        {function_id}
      </Link>
    )),
  };
  const status: Column<TriggerRow> = {
    key: "status",
    header: t`Status`,
    width: "6rem",
    cell: ofTrigger((trigger) => (
      <TriggerStatus trigger={trigger} isPaused={crons?.get(trigger.id)?.status === "paused"} />
    )),
  };
  const worker: Column<TriggerRow> = {
    key: "worker",
    header: t`Worker`,
    width: "minmax(6rem,0.6fr)",
    from: 1100,
    cell: ofTrigger(({ worker_name }) => worker_name),
  };
  const last: Column<TriggerRow> = {
    key: "last",
    header: t`Last run`,
    width: "6.5rem",
    from: 1100,
    cell: ofTrigger((trigger) => <LastRun trigger={trigger} cron={crons?.get(trigger.id)} lastRuns={lastRuns} />),
  };
  return isBesideDetail ? [type, config, target, status] : [type, config, target, status, worker, last];
}

export function TriggerStatus({
  trigger,
  isPaused = false,
}: {
  readonly trigger: TriggerItem;
  readonly isPaused?: boolean;
}) {
  if (isPaused && trigger.status === "active") {
    return (
      <Badge
        tone="info"
        icon={<CirclePause aria-hidden className="size-3" />}
        title={t`Paused: no runs start until it is resumed`}
      >
        {t`Paused`}
      </Badge>
    );
  }
  const { label, tone } = STATUS[trigger.status];
  const Icon = STATUS_ICONS[trigger.status];
  return (
    <Badge
      tone={tone}
      icon={<Icon aria-hidden className="size-3" />}
      {...(trigger.reason === null ? {} : { title: trigger.reason })}
    >
      {label}
    </Badge>
  );
}

function Summary({ trigger, cron }: { readonly trigger: TriggerItem; readonly cron: CronTrigger | undefined }) {
  const kind = kindOf(trigger.trigger_type);
  if (kind === "http") {
    return (
      <span title={summaryOf(trigger)} className="font-mono text-[12px]">
        <span className="font-semibold text-ink-2">{httpMethod(trigger)}</span> {httpPath(trigger)}
      </span>
    );
  }
  if (kind === "cron")
    return (
      <CronSummary
        expression={configText(trigger, "expression") ?? ""}
        timezone={cron?.timezone ?? configText(trigger, "timezone") ?? "UTC"}
        next={cron?.next_runs[0]}
      />
    );
  return (
    <span
      title={summaryOf(trigger)}
      className={kind === "other" ? "font-mono text-[12px] text-ink-2" : "font-mono text-[12px]"}
    >
      {summaryOf(trigger)}
    </span>
  );
}

function CronSummary({
  expression,
  timezone,
  next,
}: {
  readonly expression: string;
  readonly timezone: string;
  readonly next: string | undefined;
}) {
  const text = useCronText(expression);
  return (
    <span title={`${expression} (${timezone})`}>
      {text === undefined ? <code>{expression}</code> : text} <span className="text-ink-3">({timezone})</span>
      {next !== undefined && <Next ms={Date.parse(next)} />}
    </span>
  );
}

/** The next run of a schedule. If the time has just passed (it is polled), `now` is shown. */
function Next({ ms }: { readonly ms: number }) {
  const now = useNow();
  return <span className="text-ink-2">{rich` · next ${ms - now < 1_000 ? t`now` : <Ago ms={ms} />}`}</span>;
}
