import { Link } from "@tanstack/react-router";
import { t } from "../../labels/translate.ts";
import { useLiveCollection } from "../../lib/use-live.ts";
import type { Worker } from "../../lib/worker-history.ts";
import type { TriggerItem } from "../../model/triggers.ts";
import { Badge } from "../../ui/badge.tsx";
import { DataRegion, EmptyState } from "../../ui/data-region.tsx";
import { stateText } from "./worker-rows.ts";

/** The triggers that call this worker's functions. */
export function TriggersTab({ worker }: { readonly worker: Worker }) {
  const { loaded, items } = useLiveCollection<TriggerItem>("svc.triggers", ({ id }) => id);
  const functions = new Set(worker.functions);
  const own = items.filter(({ function_id }) => functions.has(function_id));
  return (
    <DataRegion
      loading={!loaded}
      empty={own.length === 0}
      emptyState={
        <EmptyState title={t`No triggers`}>
          {t`No trigger calls a function of this worker. Its functions can still be called directly.`}
        </EmptyState>
      }
      className="p-4"
    >
      <ul className="flex flex-col">
        {own.map(({ id, trigger_type, function_id, status, reason }) => (
          <li key={id} className="flex min-h-8 flex-wrap items-center gap-2 border-line/60 border-b py-1">
            <Badge tone="violet">{trigger_type}</Badge>
            <Link to="/triggers/{-$triggerId}" params={{ triggerId: id }} className="text-accent hover:underline">
              {id.slice(0, 12)}
            </Link>
            <span aria-hidden>→</span>
            <Link
              to="/functions/{-$functionId}"
              params={{ functionId: function_id }}
              className="break-all text-accent hover:underline"
            >
              {function_id}
            </Link>
            <span className="flex-1" />
            <Badge
              tone={status === "active" ? "ok" : status === "error" ? "danger" : "warn"}
              {...(reason === null ? {} : { title: reason })}
            >
              {stateText(status)}
            </Badge>
          </li>
        ))}
      </ul>
    </DataRegion>
  );
}
