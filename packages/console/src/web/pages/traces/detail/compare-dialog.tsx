import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "../../../labels/translate.ts";
import { call } from "../../../lib/api.ts";
import type { TraceListAnswer } from "../../../model/trace-types.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Ago } from "../../../ui/time.tsx";
import { shortId, TraceDuration, TraceStatusBadge } from "../list/trace-columns.tsx";

/** Dialog that selects the trace to compare with. It may be one with the same name, or any trace by its id. */
export function CompareDialog({
  traceId,
  name,
  onClose,
  onChoose,
}: {
  readonly traceId: string;
  readonly name: string;
  readonly onClose: () => void;
  readonly onChoose: (otherId: string) => void;
}) {
  const [id, setId] = useState("");
  const query = useQuery({
    queryKey: ["traces-of-name", name],
    queryFn: ({ signal }) => call<TraceListAnswer>("engine::traces::list", { name, limit: 21 }, { signal }),
  });
  const others = (query.data?.spans ?? [])
    .map(({ trace }) => trace)
    .filter((trace) => trace.trace_id !== traceId && trace.root_name === name);
  const typed = id.trim().toLowerCase();
  return (
    <Dialog
      open
      onClose={onClose}
      title={t`Compare with another trace`}
      description={t`Another run of “${name}”, or any trace by its ID.`}
    >
      <form
        className="mb-3 flex gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed !== "") onChoose(typed);
        }}
      >
        <input
          aria-label={t`Trace ID`}
          placeholder={t`Trace ID`}
          value={id}
          onChange={(event) => setId(event.target.value)}
          spellCheck={false}
          className="h-7 min-w-0 flex-1 rounded-md border border-line-strong/60 bg-surface px-2 font-mono text-[12px] placeholder:text-ink-3"
        />
        <Button type="submit" look="primary" disabled={typed === "" || typed === traceId}>
          {t`Compare`}
        </Button>
      </form>
      {query.error !== null && (
        <p role="alert" className="text-danger">
          {t`Failed to find other runs: ${query.error.message}`}
        </p>
      )}
      {query.data !== undefined && others.length === 0 && (
        <p className="text-ink-2">{t`No other trace has this name.`}</p>
      )}
      <ul className="flex flex-col">
        {others.slice(0, 20).map((trace) => (
          <li key={trace.trace_id}>
            <button
              type="button"
              onClick={() => onChoose(trace.trace_id)}
              className="flex min-h-8 w-full items-center gap-3 rounded-md px-2 text-left hover:bg-hover"
            >
              <span className="font-mono text-[12px]">{shortId(trace.trace_id)}</span>
              <TraceStatusBadge status={trace.status} />
              <span className="flex-1 text-right">
                <TraceDuration ms={trace.duration_ms} />
              </span>
              <Ago ms={trace.start_time_ms} className="w-20 text-right text-ink-3" />
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
