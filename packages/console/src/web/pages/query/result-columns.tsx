import { plural, t } from "../../labels/translate.ts";
import { toSegment } from "../../lib/path-segment.ts";
import { bytes } from "../../lib/time.ts";
import { attributesText } from "../../model/log-attributes.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { Ago, Duration, Timestamp } from "../../ui/time.tsx";
import type { ResultRow } from "./use-query-results.ts";

const TRACE_STATUS = { ok: ["OK", "ok"], error: [t`Error`, "danger"], pending: [t`Pending`, "info"] } as const;
const LEVEL_TONES: Readonly<Record<string, Tone>> = { ERROR: "danger", WARN: "warn", INFO: "info" };

/** Returns the address of the result on the page of its kind. */
export function hrefOf(row: ResultRow): string {
  const segment = (name: string): string => encodeURIComponent(toSegment(name));
  if (row.kind === "trace") return `/traces/${row.trace.trace_id}`;
  if (row.kind === "log") return `/logs/${encodeURIComponent(row.log.id)}`;
  return `/states/${segment(row.item.scope)}/${segment(row.item.key)}`;
}

function nameOf(row: ResultRow): string {
  if (row.kind === "trace") return row.trace.root_name;
  if (row.kind === "log") return typeof row.log.body === "string" ? row.log.body : JSON.stringify(row.log.body);
  return row.item.key;
}

export const RESULT_COLUMNS: readonly Column<ResultRow>[] = [
  {
    key: "time",
    header: t`Time`,
    width: "6.75rem",
    from: 480,
    cell: (row) =>
      row.kind === "item" ? (
        <Ago ms={row.item.updatedAtMs} />
      ) : (
        <Timestamp
          ms={row.kind === "trace" ? row.trace.start_time_ms : row.log.timestamp_ms}
          className="font-mono text-[12px] text-ink-2"
        />
      ),
  },
  { key: "status", header: t`Status`, width: "5rem", cell: (row) => <Status row={row} /> },
  {
    key: "source",
    header: t`Service or scope`,
    width: "minmax(5rem,1fr)",
    from: 640,
    cell: (row) =>
      row.kind === "trace" ? row.trace.service : row.kind === "log" ? row.log.service_name : row.item.scope,
  },
  {
    key: "name",
    header: t`Name, message or key`,
    width: "minmax(8rem,3fr)",
    cell: (row) => (
      <span className="font-medium" title={nameOf(row)}>
        {nameOf(row)}
      </span>
    ),
  },
  {
    key: "detail",
    header: t`Detail`,
    width: "minmax(6rem,2fr)",
    from: 760,
    cell: (row) => <Detail row={row} />,
  },
];

function Status({ row }: { readonly row: ResultRow }) {
  if (row.kind === "item") return <span className="text-ink-2">{t`Version ${String(row.item.version)}`}</span>;
  if (row.kind === "log")
    return <Badge tone={LEVEL_TONES[row.log.severity_text] ?? "neutral"}>{row.log.severity_text}</Badge>;
  const [label, tone] = TRACE_STATUS[row.trace.status];
  return <Badge tone={tone}>{label}</Badge>;
}

function Detail({ row }: { readonly row: ResultRow }) {
  if (row.kind === "log") {
    const text = attributesText(row.log.attributes ?? {});
    return (
      <span className="font-mono text-[11px] text-ink-2" title={text}>
        {text}
      </span>
    );
  }
  if (row.kind === "item") {
    return (
      <code className="text-ink-2" title={bytes(row.item.bytes)}>
        {row.item.preview}
      </code>
    );
  }
  const { duration_ms, span_count, error_count } = row.trace;
  return (
    <span className="text-ink-2">
      {duration_ms === null ? t`running` : <Duration ms={duration_ms} />} · {plural(span_count, "# span", "# spans")}
      {error_count > 0 && ` · ${plural(error_count, "# error", "# errors")}`}
    </span>
  );
}
