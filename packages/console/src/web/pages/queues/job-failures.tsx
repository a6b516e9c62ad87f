import type { JobFailure } from "@svc-runtime/protocol/listings";
import { Link } from "@tanstack/react-router";
import { t } from "../../labels/translate.ts";
import { ScrollArea } from "../../ui/scroll-area.tsx";
import { Timestamp } from "../../ui/time.tsx";
import { TraceLink } from "./job-facts.tsx";

/** Failed attempts, the latest first. */
export function JobFailures({ failures }: { readonly failures: readonly JobFailure[] }) {
  return (
    <div>
      <h3 className="mb-1 font-medium">{t`Failed attempts`}</h3>
      <ol className="flex flex-col gap-2">
        {[...failures].reverse().map((failure) => (
          <li
            key={`${failure.attempt} ${failure.at}`}
            className="rounded-md border border-danger/40 bg-danger-soft p-2"
          >
            <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-[12px] text-ink-2">
              <span>{t`Attempt ${failure.attempt}`}</span>
              <Timestamp ms={Date.parse(failure.at)} as="date" />
              {failure.worker !== null && <WorkerLink worker={failure.worker} />}
              {failure.trace_id !== null && <TraceLink id={failure.trace_id} />}
            </div>
            <p className="break-words text-danger">
              <code>{failure.code}</code> {failure.message}
            </p>
            {failure.stack !== null && (
              <details className="mt-1">
                <summary className="cursor-pointer text-[12px] text-ink-2">{t`Stack`}</summary>
                <ScrollArea label={t`Stack of attempt ${failure.attempt}`} className="mt-1">
                  <pre className="text-[11px]">{failure.stack}</pre>
                </ScrollArea>
              </details>
            )}
          </li>
        ))}
      </ol>
    </div>
  );
}

/** Link to a worker. `worker` is a name, followed by an id in parentheses. */
function WorkerLink({ worker }: { readonly worker: string }) {
  const id = /\(([^()]+)\)$/.exec(worker)?.[1];
  if (id === undefined) return <span className="break-all">{worker}</span>;
  return (
    <Link
      to="/workers/{-$workerId}"
      params={{ workerId: id }}
      className="inline-block break-all py-1 text-accent underline"
    >
      {worker}
    </Link>
  );
}
