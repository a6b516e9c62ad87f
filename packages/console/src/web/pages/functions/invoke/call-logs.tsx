import { useQuery } from "@tanstack/react-query";
import { t } from "../../../labels/translate.ts";
import { call } from "../../../lib/api.ts";
import { Badge, type Tone } from "../../../ui/badge.tsx";
import { ScrollArea } from "../../../ui/scroll-area.tsx";
import { Timestamp } from "../../../ui/time.tsx";

interface LogLine {
  readonly id: string;
  readonly timestamp_ms: number;
  readonly severity_text: string;
  readonly body: string;
  readonly service_name?: string;
}

const MAX_LINES = 50;
/**
 * Interval of reloads, in milliseconds. Lines are loaded several times, because log lines of workers arrive shortly
 * after the result.
 */
const REFETCH_MS = 1_000;
const MAX_FETCHES = 3;

const TONES: Readonly<Record<string, Tone>> = { ERROR: "danger", WARN: "warn", INFO: "info" };

/** Log lines of the call's trace. */
export function CallLogs({ traceId }: { readonly traceId: string }) {
  const { data, error } = useQuery({
    queryKey: ["engine::logs::list", "trace", traceId],
    queryFn: ({ signal }) =>
      call<{ readonly logs: readonly LogLine[]; readonly total: number }>(
        "engine::logs::list",
        { trace_id: traceId, limit: MAX_LINES, sort_order: "asc" },
        { signal },
      ),
    refetchInterval: (query) =>
      query.state.dataUpdateCount < MAX_FETCHES && query.state.error === null ? REFETCH_MS : false,
  });
  if (error !== null) return <p className="text-ink-2">{t`Failed to load the logs of the call: ${error.message}`}</p>;
  if (data === undefined) return null;
  if (data.logs.length === 0) return <p className="text-ink-3">{t`The call wrote no log entries.`}</p>;
  return (
    <div className="flex flex-col gap-1">
      <h4 className="font-medium text-ink-2">
        {t`Logs of the call`}
        {data.total > data.logs.length && (
          <span className="font-normal text-ink-3">{t` (the first ${data.logs.length} of ${data.total})`}</span>
        )}
      </h4>
      <ScrollArea label={t`Logs of the call`} className="max-h-64 rounded-md bg-raised p-2 font-mono text-[12px]">
        <ol>
          {data.logs.map((line) => (
            <li key={line.id} className="flex flex-wrap items-baseline gap-x-2">
              <Timestamp ms={line.timestamp_ms} className="text-ink-3" />
              <Badge tone={TONES[line.severity_text] ?? "neutral"}>{line.severity_text}</Badge>
              <span className="min-w-0 whitespace-pre-wrap break-words">{line.body}</span>
            </li>
          ))}
        </ol>
      </ScrollArea>
    </div>
  );
}
