import { Link } from "@tanstack/react-router";
import { LogIn, LogOut, type LucideIcon, Minus, Plus } from "lucide-react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { useWorkers } from "../../lib/use-live.ts";
import type { WorkerEvent } from "../../lib/worker-history.ts";
import { Timestamp } from "../../ui/time.tsx";
import type { WorkerRow } from "./worker-rows.ts";

const EVENTS: Readonly<
  Record<WorkerEvent["what"], { readonly icon: LucideIcon; readonly className: string; readonly text: string }>
> = {
  connected: { icon: LogIn, className: "text-ok", text: t`Connected` },
  disconnected: { icon: LogOut, className: "text-danger", text: t`Disconnected` },
  registered: { icon: Plus, className: "text-info", text: t`Registered` },
  unregistered: { icon: Minus, className: "text-warn", text: t`Unregistered` },
};

/** Events of all workers with this name. The name is used, because a worker that reconnects has a new id. */
export function EventsTab({ row }: { readonly row: WorkerRow }) {
  const { events, sinceMs } = useWorkers();
  const own = events.filter(({ name }) => name === row.name);
  const { worker } = row;
  return (
    <div className="flex flex-col gap-2 p-4">
      <p className="text-ink-3">
        {rich`Events of all workers named ${row.name} since this page was opened at ${<Timestamp ms={sinceMs} withMs={false} />}. The engine does not store them.`}
      </p>
      <ol className="flex flex-col">
        {own.map(({ atMs, workerId, what, functions }, at) => {
          const { icon: Icon, className, text } = EVENTS[what];
          return (
            <li
              // biome-ignore lint/suspicious/noArrayIndexKey: events have no ids; new ones render the whole list again
              key={`${atMs} ${workerId} ${what} ${at}`}
              className="flex items-baseline gap-2 border-line/60 border-b py-1"
            >
              <Timestamp ms={atMs} className="shrink-0 font-mono text-[11px] text-ink-3" />
              <Icon aria-hidden className={`size-3.5 shrink-0 self-center ${className}`} />
              <span>{text}</span>
              <span className="min-w-0 break-words">
                {functions.map((id, place) => (
                  <span key={id}>
                    {place > 0 && ", "}
                    <Link
                      to="/functions/{-$functionId}"
                      params={{ functionId: id }}
                      className="text-accent hover:underline"
                    >
                      {id}
                    </Link>
                  </span>
                ))}
              </span>
              <span className="flex-1" />
              <code className="text-[11px] text-ink-3">{workerId.slice(0, 8)}</code>
            </li>
          );
        })}
        {worker !== undefined && worker.connected_at_ms < sinceMs && (
          <li className="flex items-baseline gap-2 py-1 text-ink-2">
            <Timestamp ms={worker.connected_at_ms} as="date" className="shrink-0 font-mono text-[11px] text-ink-3" />{" "}
            {t`Connected, before this page was opened`}
          </li>
        )}
      </ol>
    </div>
  );
}
