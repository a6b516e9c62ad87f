import { Link } from "@tanstack/react-router";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { isMissingFunction, usePolledCall } from "../../lib/use-polled-call.ts";
import type { Worker } from "../../lib/worker-history.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { Timestamp } from "../../ui/time.tsx";

interface LogEntry {
  readonly id: string;
  readonly timestamp_ms: number;
  readonly severity_text: string;
  readonly body: unknown;
}

const TONES: Readonly<Record<string, Tone>> = { ERROR: "danger", FATAL: "danger", WARN: "warn", INFO: "info" };
const SHOWN = 50;

/** The worker's last log lines, with a link to all of them. */
export function LogsTab({ worker }: { readonly worker: Worker }) {
  const { data, error, isPending, refetch } = usePolledCall<{ readonly logs: readonly LogEntry[] }>(
    "engine::logs::list",
    ["worker", worker.id],
    () => ({ worker: worker.id, limit: SHOWN }),
    { everyMs: 2_000 },
  );
  return (
    <DataRegion
      loading={isPending}
      error={error}
      empty={data?.logs.length === 0}
      retry={() => void refetch()}
      emptyState={
        <EmptyState title={t`No logs from this worker`}>
          {isMissingFunction(error)
            ? t`svc-observability is off.`
            : t`Its logs appear here, and its output if the engine started it.`}
        </EmptyState>
      }
      className="gap-2 p-4"
    >
      <p className="flex gap-3 text-ink-3">
        {rich`The last ${data?.logs.length} lines, newest first.`}
        <Link
          to="/logs/{-$logId}"
          params={{ logId: undefined }}
          search={{ worker: worker.id }}
          className="text-accent underline"
        >
          {t`Open in Logs`}
        </Link>
      </p>
      <ol className="flex flex-col">
        {data?.logs.map(({ id, timestamp_ms, severity_text, body }) => (
          <li key={id} className="flex items-baseline gap-2 border-line/60 border-b py-1">
            <Timestamp ms={timestamp_ms} className="shrink-0 font-mono text-[11px] text-ink-3" />
            <Badge tone={TONES[severity_text] ?? "neutral"}>{severity_text}</Badge>
            <Link
              to="/logs/{-$logId}"
              params={{ logId: id }}
              search={{ worker: worker.id }}
              className="min-w-0 break-words font-mono text-[12px] hover:underline"
            >
              {typeof body === "string" ? body : JSON.stringify(body)}
            </Link>
          </li>
        ))}
      </ol>
    </DataRegion>
  );
}
