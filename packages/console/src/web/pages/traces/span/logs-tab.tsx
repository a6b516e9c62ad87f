import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { t } from "../../../labels/translate.ts";
import { ApiFailure, call } from "../../../lib/api.ts";
import { duration } from "../../../lib/time.ts";
import type { TraceForest } from "../../../model/span-forest.ts";
import { attributeOf, type SpanEvent, type StoredSpan } from "../../../model/trace-types.ts";
import { Badge, type Tone } from "../../../ui/badge.tsx";
import { JsonView } from "../../../ui/json-view.tsx";
import { Timestamp } from "../../../ui/time.tsx";
import { AttributeValue } from "./tags-tab.tsx";

interface LogEntry {
  readonly id: string;
  readonly timestamp_ms: number;
  readonly severity_text: string;
  readonly body: string;
}

const MAX_LOGS = 500;
const TONES: Readonly<Record<string, Tone>> = {
  ERROR: "danger",
  WARN: "warn",
  INFO: "info",
  DEBUG: "neutral",
  TRACE: "neutral",
};

/** Events and log entries of the span. */
export function LogsTab({ span, forest }: { readonly span: StoredSpan; readonly forest: TraceForest }) {
  return (
    <div className="flex flex-col gap-4 p-3">
      <section>
        <h3 className="mb-1 font-medium text-[12px] text-ink-3">{t`Events`}</h3>
        {span.events.length === 0 && <p className="text-ink-2">{t`This span has no events.`}</p>}
        <ol className="flex flex-col gap-2">
          {span.events.map((event, at) => (
            <EventItem
              // biome-ignore lint/suspicious/noArrayIndexKey: events have no ids, and their order is fixed
              key={at}
              event={event}
              offset={Number(BigInt(event.timestamp_unix_nano_text) - forest.startUnixNano) / 1e6}
            />
          ))}
        </ol>
      </section>
      <CorrelatedLogs span={span} />
    </div>
  );
}

function EventItem({ event, offset }: { readonly event: SpanEvent; readonly offset: number }) {
  const payload = attributeOf(event.attributes, "svc.payload.json");
  const others = event.attributes.filter(([key]) => key !== "svc.payload.json");
  return (
    <li className="rounded-md border border-line p-2">
      <p className="flex items-baseline gap-2">
        <span className="font-medium">{event.name}</span>
        <span className="ml-auto font-mono text-[11px] text-ink-3">+{duration(Math.max(0, offset))}</span>
      </p>
      {payload !== undefined && <JsonView text={payload} name={event.name} />}
      {others.length > 0 && (
        <dl className="mt-1 grid grid-cols-[minmax(0,2fr)_minmax(0,3fr)] gap-x-3 text-[12px]">
          {others.map(([key, text]) => (
            <div key={key} className="contents">
              <dt className="break-words text-ink-3">{key}</dt>
              <dd className="min-w-0">
                <AttributeValue name={key} text={text} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}

function CorrelatedLogs({ span }: { readonly span: StoredSpan }) {
  const query = useQuery({
    queryKey: ["span-logs", span.trace_id, span.span_id, span.end_time_unix_nano_text],
    queryFn: ({ signal }) =>
      call<{ readonly logs: readonly LogEntry[]; readonly total: number }>(
        "engine::logs::list",
        { trace_id: span.trace_id, span_id: span.span_id, limit: MAX_LOGS, sort_order: "asc" },
        { signal },
      ),
    refetchInterval: span.end_time_unix_nano_text === null ? 2_000 : false,
  });
  return (
    <section>
      <h3 className="mb-1 flex items-center font-medium text-[12px] text-ink-3">
        {t`Log entries`}
        <Link
          to="/logs/{-$logId}"
          params={{ logId: undefined }}
          search={{ trace: span.trace_id, span: span.span_id }}
          className="ml-auto text-accent hover:underline"
        >
          {t`Open in Logs`}
        </Link>
      </h3>
      {query.error !== null && (
        <p role="alert" className="text-danger">
          {query.error instanceof ApiFailure ? `${query.error.what}: ` : ""}
          {query.error.message}
        </p>
      )}
      {query.isPending && <p className="text-ink-3">{t`Loading the log entries`}</p>}
      {query.data !== undefined && query.data.logs.length === 0 && (
        <p className="text-ink-2">{t`Nothing was logged in this span.`}</p>
      )}
      <ol className="flex flex-col divide-y divide-line/60">
        {query.data?.logs.map((log) => (
          <li key={log.id} className="flex items-start gap-2 py-1">
            <Timestamp ms={log.timestamp_ms} className="shrink-0 pt-0.5 font-mono text-[11px] text-ink-3" />
            <Badge tone={TONES[log.severity_text] ?? "neutral"}>{log.severity_text}</Badge>
            <Link
              to="/logs/{-$logId}"
              params={{ logId: log.id }}
              search={{ trace: span.trace_id }}
              className="min-w-0 whitespace-pre-wrap break-words font-mono text-[12px] hover:underline"
            >
              {log.body}
            </Link>
          </li>
        ))}
      </ol>
      {query.data !== undefined && query.data.total > query.data.logs.length && (
        <p className="text-ink-3">{t`and ${query.data.total - query.data.logs.length} more`}</p>
      )}
    </section>
  );
}
