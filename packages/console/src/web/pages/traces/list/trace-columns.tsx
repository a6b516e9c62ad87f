import { Link } from "@tanstack/react-router";
import { CircleAlert, CircleCheck, LoaderCircle, Timer, Unplug } from "lucide-react";
import { t } from "../../../labels/translate.ts";
import { asyncWorkText } from "../../../model/trace-outcome.ts";
import type { AsyncWork, TraceStatus, TraceSummary } from "../../../model/trace-types.ts";
import { Badge } from "../../../ui/badge.tsx";
import { cn } from "../../../ui/cn.ts";
import { CopyButton } from "../../../ui/copy-button.tsx";
import type { Column } from "../../../ui/data-table.tsx";
import { ServiceSwatch } from "../../../ui/service-name.tsx";
import { Duration, Timestamp } from "../../../ui/time.tsx";

/** The status as an icon and a word. With `isShort`, the word is visible to screen readers only. */
export function TraceStatusBadge({
  status,
  isShort = false,
}: {
  readonly status: TraceStatus;
  readonly isShort?: boolean;
}) {
  const word = isShort ? "sr-only" : undefined;
  if (status === "error")
    return (
      <Badge tone="danger" icon={<CircleAlert aria-hidden className="size-3" />}>
        <span className={word}>{t`Error`}</span>
      </Badge>
    );
  if (status === "pending")
    return (
      <Badge tone="info" icon={<LoaderCircle aria-hidden className="size-3 animate-spin" />}>
        <span className={word}>{t`Pending`}</span>
      </Badge>
    );
  return (
    <Badge tone="ok" icon={<CircleCheck aria-hidden className="size-3" />}>
      <span className={word}>{t`OK`}</span>
    </Badge>
  );
}

/** Maximum number of services whose colours a row shows, in addition to the service of the root span. */
const MAX_SWATCHES = 5;

export function shortId(id: string): string {
  return id.length > 12 ? `${id.slice(0, 8)}…${id.slice(-3)}` : id;
}

interface ColumnOptions {
  /** True if the engines of a cluster are shown. */
  readonly hasNodes: boolean;
  readonly longestMs: number;
  /** True if the words of the status and the milliseconds of times are left out. */
  readonly isNarrow: boolean;
  readonly selected: readonly string[];
  readonly onToggle: (traceId: string) => void;
}

/**
 * Returns the columns: first those of the specification in its order, then errors, then a bar with the relative
 * duration.
 */
export function traceColumns({
  hasNodes,
  longestMs,
  isNarrow,
  selected,
  onToggle,
}: ColumnOptions): readonly Column<TraceSummary>[] {
  return [
    {
      key: "select",
      header: t`Select`,
      width: "2.5rem",
      from: 1400,
      cell: ({ trace_id, root_name }) => (
        <input
          type="checkbox"
          aria-label={t`Compare ${root_name} ${shortId(trace_id)}`}
          checked={selected.includes(trace_id)}
          onClick={(event) => event.stopPropagation()}
          onChange={() => onToggle(trace_id)}
          className="size-4 align-middle accent-accent"
        />
      ),
    },
    {
      key: "id",
      header: t`Trace ID`,
      width: "8rem",
      from: 760,
      cell: ({ trace_id }) => (
        <span className="group flex items-center gap-1">
          <TraceLink traceId={trace_id} className="font-mono text-[12px] text-accent" title={trace_id}>
            {shortId(trace_id)}
          </TraceLink>
          <CopyButton
            text={trace_id}
            label={t`Copy the ID ${shortId(trace_id)}`}
            className="size-6 opacity-0 focus-visible:opacity-100 group-hover:opacity-100"
          />
        </span>
      ),
    },
    {
      key: "service",
      header: t`Service`,
      width: "minmax(5rem,1fr)",
      from: 640,
      cell: ({ service, services }) => {
        const others = services.filter((name) => name !== service);
        return (
          <span title={[service, ...others].join(", ")} className="flex min-w-0 items-center gap-1">
            <ServiceSwatch service={service} />
            <span className="min-w-0 truncate">{service}</span>
            {others.slice(0, MAX_SWATCHES).map((name) => (
              <ServiceSwatch key={name} service={name} className="size-2" />
            ))}
            {others.length > 0 && <span className="text-ink-3">+{others.length}</span>}
          </span>
        );
      },
    },
    ...(hasNodes ? [NODES] : []),
    {
      key: "name",
      header: t`Root Span`,
      width: isNarrow ? "minmax(6rem,1fr)" : "minmax(8rem,2.4fr)",
      sortable: true,
      cell: (row) => (
        <span className="flex min-w-0 items-center gap-1.5">
          <TraceLink traceId={row.trace_id} className="min-w-0 truncate font-medium" title={row.root_name}>
            {row.root_name}
          </TraceLink>
          {row.async_work !== undefined && <AsyncBadge work={row.async_work} isShort={isNarrow} />}
          {row.partial && (
            <Badge
              tone="warn"
              icon={<Unplug aria-hidden className="size-3" />}
              title={t`The root span of this trace has not arrived or was dropped`}
            >
              {t`Partial`}
            </Badge>
          )}
        </span>
      ),
    },
    {
      key: "duration",
      header: t`Duration`,
      width: "5.25rem",
      align: "right",
      sortable: true,
      cell: ({ duration_ms }) => <TraceDuration ms={duration_ms} />,
    },
    {
      key: "status",
      header: t`Status`,
      width: isNarrow ? "3rem" : "5.5rem",
      cell: ({ status }) => <TraceStatusBadge status={status} isShort={isNarrow} />,
    },
    {
      key: "spans",
      header: t`Spans`,
      width: "3.75rem",
      align: "right",
      sortable: true,
      from: 640,
      cell: ({ span_count }) => span_count.toLocaleString("en-GB"),
    },
    {
      key: "timestamp",
      header: isNarrow ? t`Time` : t`Timestamp`,
      width: isNarrow ? "4rem" : "6.75rem",
      sortable: true,
      cell: ({ start_time_ms }) => (
        <Timestamp ms={start_time_ms} withMs={!isNarrow} className="font-mono text-[12px] text-ink-2" />
      ),
    },
    {
      key: "errors",
      header: t`Errors`,
      width: "3.5rem",
      align: "right",
      from: 1050,
      cell: ({ error_count }) => (
        <span className={error_count > 0 ? "font-medium text-danger" : "text-ink-3"}>
          {error_count.toLocaleString("en-GB")}
        </span>
      ),
    },
    {
      key: "bar",
      header: t`Relative`,
      width: "minmax(3.5rem,0.7fr)",
      from: 1400,
      cell: ({ duration_ms, status }) => (
        <span aria-hidden className="block h-1.5 w-full overflow-hidden rounded-full bg-raised">
          <span
            className={cn(
              "block h-full rounded-full",
              status === "error" ? "bg-danger" : status === "pending" ? "bg-info" : "bg-accent",
            )}
            style={{ width: `${duration_ms === null ? 100 : Math.max(1, (duration_ms / longestMs) * 100)}%` }}
          />
        </span>
      ),
    },
  ];
}

const NODES: Column<TraceSummary> = {
  key: "nodes",
  header: t`Node`,
  width: "minmax(3.5rem,6rem)",
  from: 760,
  cell: ({ nodes = [] }) => <span title={nodes.join(", ")}>{nodes.join(", ")}</span>,
};

function AsyncBadge({ work, isShort }: { readonly work: AsyncWork; readonly isShort: boolean }) {
  const text = asyncWorkText(work);
  return (
    <Badge
      tone={work.errors > 0 ? "danger" : "neutral"}
      icon={<Timer aria-hidden className="size-3" />}
      title={t`Asynchronous work, after the root span ended: ${text}`}
    >
      <span className="sr-only">{t`Asynchronous work:`} </span>
      <span className={isShort ? "sr-only" : undefined}>{text}</span>
    </Badge>
  );
}

export function TraceDuration({ ms }: { readonly ms: number | null }) {
  return ms === null ? (
    <span className="text-info">{t`running`}</span>
  ) : (
    <Duration ms={ms} className="font-mono text-[12px]" />
  );
}

function TraceLink({
  traceId,
  className,
  title,
  children,
}: {
  traceId: string;
  className?: string;
  title?: string;
  children: React.ReactNode;
}) {
  return (
    <Link
      to="/traces/{-$traceId}/{-$spanId}"
      params={{ traceId, spanId: undefined }}
      search
      title={title}
      // The link is not in the tab order, because the list has the focus and Enter opens the row.
      tabIndex={-1}
      onClick={(event) => event.stopPropagation()}
      className={cn("hover:underline", className)}
    >
      {children}
    </Link>
  );
}
