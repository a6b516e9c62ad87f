import { Ban, Boxes, CircleAlert, CircleCheck, type LucideIcon } from "lucide-react";
import { t } from "../../labels/translate.ts";
import { percent } from "../../lib/percent.ts";
import { bytes, duration } from "../../lib/time.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { cn } from "../../ui/cn.ts";
import type { Column } from "../../ui/data-table.tsx";
import { Sparkline } from "../../ui/sparkline.tsx";
import { Ago, Duration } from "../../ui/time.tsx";
import type { WorkerLines } from "./use-worker-rows.ts";
import { type RowStatus, SORT_KEYS, stateText, type WorkerRow } from "./worker-rows.ts";

const STATUS: Readonly<Record<RowStatus, { readonly label: string; readonly tone: Tone; readonly icon: LucideIcon }>> =
  {
    connected: { label: t`Connected`, tone: "ok", icon: CircleCheck },
    module: { label: t`Module`, tone: "neutral", icon: Boxes },
    running: { label: t`Running`, tone: "ok", icon: CircleCheck },
    gone: { label: t`Disconnected`, tone: "danger", icon: Ban },
    down: { label: t`Down`, tone: "warn", icon: CircleAlert },
  };

/** Colours of the states that are shown instead of `Down` or `Connected`. All other states are shown as warnings. */
const STATE_TONES: Readonly<Record<string, Tone>> = {
  ready: "ok",
  installing: "info",
  starting: "info",
  replacing: "info",
  stopping: "info",
  stopped: "neutral",
  crash_looping: "danger",
  failed: "danger",
};

export function StatusBadge({ row }: { readonly row: WorkerRow }) {
  const { label, icon: Icon } = STATUS[row.status];
  const tone = row.state === undefined ? STATUS[row.status].tone : (STATE_TONES[row.state] ?? "warn");
  return (
    <Badge
      tone={tone}
      icon={<Icon aria-hidden className="size-3" />}
      {...(row.configured?.reason ? { title: row.configured.reason } : {})}
    >
      {row.state === undefined || row.status === "running" ? label : stateText(row.state)}
    </Badge>
  );
}

const NONE = <span className="text-ink-3">–</span>;
function known<Value>(
  value: Value | null | undefined,
  show: (value: Value) => React.ReactNode = String,
): React.ReactNode {
  return value === null || value === undefined || value === "" ? NONE : show(value);
}

type CallFigures = NonNullable<NonNullable<WorkerRow["metrics"]>["calls"]>;

function rate({ rate_per_second: perSecond }: CallFigures): string {
  return perSecond === 0 ? "0" : perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString("en-GB");
}

function callsText({ calls, errors, window_seconds: seconds }: CallFigures): string {
  const count = calls.toLocaleString("en-GB");
  return t`${errors} of ${count} calls failed in the last ${duration(seconds * 1_000)}`;
}

function Mono({
  title,
  className,
  children,
}: {
  readonly title: string;
  readonly className?: string;
  readonly children: React.ReactNode;
}) {
  return (
    <span title={title} className={cn("font-mono text-[12px]", className)}>
      {children}
    </span>
  );
}

function Metric({
  text,
  values,
  label,
}: {
  readonly text: React.ReactNode;
  readonly values: readonly (number | null)[] | undefined;
  readonly label: string;
}) {
  return (
    <span className="flex items-center justify-end gap-2">
      {values !== undefined && <Sparkline values={values} text={label} className="h-5 w-12" />}
      <span className="w-14 text-right font-mono text-[12px]">{text}</span>
    </span>
  );
}

/**
 * Returns the columns of the list. With `isBeside`, a detail is open beside the list, and only the main columns are
 * shown. With `hasNodes`, the engines of a cluster are shown.
 */
export function workerColumns(
  lines: ReadonlyMap<string, WorkerLines>,
  { isBeside, hasNodes }: { readonly isBeside: boolean; readonly hasNodes: boolean },
): readonly Column<WorkerRow>[] {
  const all: readonly (Column<WorkerRow> & { readonly isMain?: true })[] = [
    { key: "status", header: t`Status`, width: "7.5rem", isMain: true, cell: (row) => <StatusBadge row={row} /> },
    {
      key: "name",
      header: t`Name`,
      // A process of a cluster has its id beside its name.
      width: hasNodes ? "minmax(clamp(9rem,14vw,12rem),2fr)" : "minmax(9rem,2fr)",
      isMain: true,
      cell: (row) => <Name row={row} isShort={isBeside || hasNodes} />,
    },
    ...(hasNodes
      ? [
          {
            ...{ key: "node", header: t`Node`, width: "minmax(3rem,6rem)", from: 560, isMain: true as const },
            cell: ({ worker }: WorkerRow) => known(worker?.node, (node) => <span title={node}>{node}</span>),
          },
        ]
      : []),
    {
      key: "runtime",
      header: t`Runtime`,
      width: "4.5rem",
      from: hasNodes ? 1360 : 640,
      cell: ({ worker }) => known(worker?.runtime),
    },
    { key: "version", header: t`Version`, width: "4rem", from: 1280, cell: ({ worker }) => known(worker?.version) },
    {
      key: "isolation",
      header: t`Isolation`,
      width: "5rem",
      from: 1536,
      cell: ({ worker }) => known(worker?.isolation),
    },
    { key: "host", header: t`Host`, width: "6rem", from: 1536, cell: ({ worker }) => known(worker?.ip_address) },
    { key: "pid", header: t`PID`, width: "4rem", align: "right", from: 1280, cell: ({ worker }) => known(worker?.pid) },
    {
      key: "functions",
      header: t`Functions`,
      width: "5rem",
      align: "right",
      from: 480,
      isMain: true,
      cell: ({ worker }) => known(worker?.function_count),
    },
    {
      key: "in_flight",
      header: t`In flight`,
      width: "4.25rem",
      align: "right",
      from: 640,
      isMain: true,
      cell: ({ worker }) => known(worker?.active_invocations),
    },
    {
      ...{ key: "rate", header: t`Calls/s`, width: "4.25rem", align: "right", from: 760, isMain: true },
      cell: ({ metrics }) => known(metrics?.calls, (calls) => <Mono title={callsText(calls)}>{rate(calls)}</Mono>),
    },
    {
      ...{ key: "errors", header: t`Errors`, width: "4rem", align: "right", from: 380, isMain: true },
      cell: ({ metrics }) =>
        known(metrics?.calls, (calls) => (
          <Mono title={callsText(calls)} className={calls.errors > 0 ? "font-medium text-danger" : "text-ink-3"}>
            {calls.errors === 0 ? "0" : percent(calls.error_rate)}
          </Mono>
        )),
    },
    {
      ...{ key: "p95", header: "p95", width: "4.5rem", align: "right", from: 500, isMain: true },
      cell: ({ metrics }) =>
        known(metrics?.calls?.p95_ms, (ms) => <Duration ms={ms} className="font-mono text-[12px]" />),
    },
    {
      ...{ key: "cpu", header: t`CPU`, width: "7.75rem", align: "right", from: 900 },
      cell: ({ id, metrics }) => (
        <Metric
          text={known(metrics?.cpu_percent, (percent) => `${percent.toFixed(1)} %`)}
          values={lines.get(id)?.cpu}
          label={t`CPU of the last 5 minutes`}
        />
      ),
    },
    {
      ...{ key: "rss", header: t`RSS`, width: "7.75rem", align: "right", from: 900 },
      cell: ({ id, metrics }) => (
        <Metric
          text={known(metrics?.rss_bytes, bytes)}
          values={lines.get(id)?.rss}
          label={t`Memory of the last 5 minutes`}
        />
      ),
    },
    {
      key: "lag",
      header: t`Loop lag`,
      width: "4.5rem",
      align: "right",
      from: 1280,
      cell: ({ metrics }) => known(metrics?.event_loop_lag_ms, duration),
    },
    {
      ...{ key: "since", header: t`Since`, width: "5.5rem", align: "right", from: 640 },
      cell: ({ worker, goneAtMs }) => known(goneAtMs ?? worker?.connected_at_ms, (ms) => <Ago ms={ms} />),
    },
  ];
  return all
    .filter(({ isMain }) => !isBeside || isMain === true)
    .map((column) => ({ ...column, sortable: column.key in SORT_KEYS }));
}

function Name({
  row: { name, worker, instances, processPeers },
  isShort,
}: {
  readonly row: WorkerRow;
  /** True if the name needs the room. */
  readonly isShort: boolean;
}) {
  return (
    <span className="flex min-w-0 items-center gap-2">
      <span className="truncate font-medium" title={worker?.description ?? name}>
        {name}
      </span>
      {worker !== undefined && worker.kind !== "module" && (
        <code className="shrink-0 text-[11px] text-ink-3 max-sm:hidden">{worker.id.slice(0, 8)}</code>
      )}
      {instances > 1 && (
        <Badge title={t`${instances} connected workers are named ${name}`} className="shrink-0">
          ×{instances}
        </Badge>
      )}
      {/* It explains the CPU and memory columns. On narrow screens, these are hidden. */}
      {processPeers.length > 0 && !isShort && (
        <Badge
          title={t`CPU and memory are those of the process, which it shares with ${processPeers.map((peer) => peer.name).join(", ")}`}
          className="shrink-0 max-lg:hidden"
        >
          {t`Shared process`}
        </Badge>
      )}
    </span>
  );
}
