import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { bytes, duration } from "../../lib/time.ts";
import { Badge } from "../../ui/badge.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ScrollArea } from "../../ui/scroll-area.tsx";
import { Ago, Timestamp, useNow } from "../../ui/time.tsx";
import { WorkerActions } from "./worker-actions.tsx";
import { StatusBadge } from "./worker-columns.tsx";
import { processStartMs, type WorkerRow } from "./worker-rows.ts";

/** Details of a worker, with its actions. */
export function OverviewTab({ row }: { readonly row: WorkerRow }) {
  const { worker, metrics, configured, goneAtMs, processPeers } = row;
  const now = useNow();
  // The sample is a few seconds old. So the uptime is computed from the start of the process.
  const startedAtMs =
    metrics === undefined || worker === undefined ? undefined : processStartMs(metrics, worker.connected_at_ms);
  return (
    <div className="flex flex-col gap-4 p-4">
      <WorkerActions row={row} />
      <dl className="grid grid-cols-[8.5rem_minmax(0,1fr)] gap-x-3 gap-y-1.5">
        <Fact name={t`Status`}>
          <StatusBadge row={row} /> {configured?.reason}
        </Fact>
        {worker?.description != null && <Fact name={t`Description`}>{worker.description}</Fact>}
        {worker !== undefined && (
          <>
            <Fact name={t`ID`}>
              <code className="break-all">{worker.id}</code>
              <CopyButton text={worker.id} label={t`Copy the ID`} className="h-5 w-5" />
            </Fact>
            <Fact name={goneAtMs === undefined ? t`Connected` : t`Was connected`}>
              <Timestamp ms={worker.connected_at_ms} as="date" /> (
              {duration(Math.max(0, (goneAtMs ?? now) - worker.connected_at_ms))})
            </Fact>
          </>
        )}
        {goneAtMs !== undefined && (
          <Fact name={t`Disconnected`}>
            <Timestamp ms={goneAtMs} as="date" /> (<Ago ms={goneAtMs} />)
          </Fact>
        )}
        {worker !== undefined && (
          <>
            <Fact name={t`Runtime`}>{[worker.runtime, worker.version].filter((part) => part !== null).join(" ")}</Fact>
            <Fact name={t`OS`}>{worker.os}</Fact>
            <Fact name={t`Address`}>{worker.ip_address}</Fact>
            <Fact name={t`Process ID`}>{worker.pid}</Fact>
            {processPeers.length > 0 && (
              <Fact name={t`Shares process with`}>
                {processPeers.map(({ id, name }) => (
                  <Link
                    key={id}
                    to="/workers/{-$workerId}"
                    params={{ workerId: id }}
                    search={true}
                    className="text-accent underline"
                  >
                    {name} <span className="font-mono text-[11px]">{id.slice(0, 8)}</span>
                  </Link>
                ))}
                <span className="text-ink-3">{t`CPU and memory are those of the process`}</span>
              </Fact>
            )}
            <Fact name={t`Isolation`}>{worker.isolation}</Fact>
            <Fact name={t`Access`}>{worker.principal ?? t`unrestricted`}</Fact>
            <Fact name={t`In flight`}>{worker.active_invocations}</Fact>
          </>
        )}
        {metrics !== undefined && (
          <>
            <Fact name={t`CPU`}>
              {metrics.cpu_percent === null ? undefined : t`${metrics.cpu_percent.toFixed(1)} % of one core`}
            </Fact>
            <Fact name={t`Memory`}>
              {metrics.rss_bytes === null ? undefined : t`${bytes(metrics.rss_bytes)} resident`}
            </Fact>
            <Fact name={t`Process up for`}>
              {startedAtMs === undefined ? undefined : duration(Math.max(0, now - startedAtMs))}
            </Fact>
          </>
        )}
        {configured !== undefined && (
          <>
            <Fact name={t`Config entry`}>{configured.name}</Fact>
            <Fact name={t`Restarts after a crash`}>{configured.restarts}</Fact>
            {configured.last_exit != null && (
              <Fact name={t`Last unexpected exit`}>
                {rich`${<Timestamp ms={Date.parse(configured.last_exit.at)} as="date" />} with ${exitText(configured.last_exit)}`}
              </Fact>
            )}
            {configured.next_start_at != null && (
              <Fact name={t`Next start`}>
                <Timestamp ms={Date.parse(configured.next_start_at)} as="date" />
              </Fact>
            )}
            <Fact name={t`Log file`}>
              {configured.log_file === null ? undefined : <code className="break-all">{configured.log_file}</code>}
            </Fact>
          </>
        )}
        {worker !== undefined && worker.trigger_types.length > 0 && (
          <Fact name={t`Trigger types`}>
            <span className="flex flex-wrap gap-1">
              {worker.trigger_types.map((type) => (
                <Badge key={type}>{type}</Badge>
              ))}
            </span>
          </Fact>
        )}
        {worker !== undefined && worker.features.length > 0 && (
          <Fact name={t`Features`}>
            <span className="flex flex-wrap gap-1">
              {worker.features.map((feature) => (
                <Badge key={feature}>{feature}</Badge>
              ))}
            </span>
          </Fact>
        )}
      </dl>
      {configured !== undefined && configured.tail.length > 0 && (
        <section>
          <h3 className="mb-1 font-medium text-ink-2">{t`Last output`}</h3>
          <ScrollArea label={t`Last output`} className="rounded-md bg-raised p-2">
            <pre className="w-max min-w-full">{configured.tail.join("\n")}</pre>
          </ScrollArea>
        </section>
      )}
      {worker !== undefined && (
        <p className="flex gap-4">
          <Link
            to="/traces/{-$traceId}/{-$spanId}"
            params={{ traceId: undefined, spanId: undefined }}
            search={{ service: worker.name }}
            className="text-accent underline"
          >
            {t`Traces`}
          </Link>
          <Link
            to="/logs/{-$logId}"
            params={{ logId: undefined }}
            search={{ worker: worker.id }}
            className="text-accent underline"
          >
            {t`Logs`}
          </Link>
        </p>
      )}
    </div>
  );
}

function exitText({ code, signal }: { readonly code: number | null; readonly signal: string | null }): string {
  return signal === null ? (code === null ? t`no exit code: failed to start` : t`exit code ${String(code)}`) : signal;
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="flex min-w-0 flex-wrap items-center gap-x-1.5">
        {children ?? <span className="text-ink-3">{t`not known`}</span>}
      </dd>
    </>
  );
}
