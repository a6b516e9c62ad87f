import { maskText } from "@svc-runtime/protocol/secrets";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { CALLS_BY_CONSOLES } from "../../lib/calls-by-consoles.ts";
import { isMissingFunction, usePolledCall } from "../../lib/use-polled-call.ts";
import { asyncWorkText } from "../../model/trace-outcome.ts";
import type { TraceSummary } from "../../model/trace-types.ts";
import { DataRegion, SkeletonRows } from "../../ui/data-region.tsx";
import { Ago, Duration } from "../../ui/time.tsx";
import { Section } from "./section.tsx";

interface TraceRoot {
  readonly trace_id: string;
  readonly name: string;
  readonly status: string;
  readonly status_description?: string | null;
  readonly start_time_ms: number;
  readonly trace: TraceSummary;
}

const SHOWN = 5;

const SlowestSpan = lazy(() => import("./slowest-span.tsx"));

/** Returns the root's error with secrets masked, or else what failed below it. */
function reasonOf({ status_description, trace: { status, error_count, span_count, async_work } }: TraceRoot): string {
  if (status_description) return maskText(status_description);
  if (status !== "error" && async_work !== undefined && async_work.errors > 0)
    return `Asynchronous work: ${asyncWorkText(async_work)}`;
  return `${error_count} of ${span_count} spans failed`;
}

function NamedSlowestSpan({ trace }: { readonly trace: TraceSummary }) {
  const { services, span_count: spanCount } = trace;
  const summary = (
    <p className="truncate text-[12px] text-ink-2">
      {services.join(", ")} · {spanCount} {spanCount === 1 ? "span" : "spans"}
    </p>
  );
  return (
    <Suspense fallback={summary}>
      <SlowestSpan trace={trace}>{summary}</SlowestSpan>
    </Suspense>
  );
}

/** The five latest failed or the five slowest traces of the range. */
export function TraceSection({
  title,
  which,
  rangeMs,
}: {
  readonly title: string;
  readonly which: "errors" | "slowest";
  readonly rangeMs: number;
}) {
  const { data, error, isPending, refetch } = usePolledCall<{ readonly spans: readonly TraceRoot[] }>(
    "engine::traces::list",
    ["dashboard", which, rangeMs],
    () => ({
      limit: SHOWN,
      start_time: Date.now() - rangeMs,
      exclude_attributes: CALLS_BY_CONSOLES,
      ...(which === "errors" ? { with_errors: true } : { sort_by: "duration", sort_order: "desc" }),
    }),
  );
  return (
    <Section
      title={title}
      controls={
        <Link
          to="/traces/{-$traceId}/{-$spanId}"
          params={{ traceId: undefined, spanId: undefined }}
          search={which === "errors" ? { failed: true } : { sort: "duration" }}
          className="text-[12px] text-accent underline"
        >
          {which === "errors" ? "All failed traces" : "All traces by duration"}
        </Link>
      }
    >
      {isMissingFunction(error) ? (
        <p className="py-3 text-ink-2">No traces are stored: the engine runs without svc-observability.</p>
      ) : (
        <DataRegion
          loading={isPending}
          error={error}
          empty={data?.spans.length === 0}
          retry={() => void refetch()}
          skeleton={<SkeletonRows rows={SHOWN} />}
          emptyState={
            <p className="py-3 text-ink-2">
              {which === "errors" ? "No errors in this time range" : "No calls in this time range"}
            </p>
          }
        >
          <ul className="flex flex-col">
            {data?.spans.map((root) => (
              <li
                key={root.trace_id}
                className="flex items-baseline gap-3 border-line/60 border-b py-1.5 last:border-b-0"
              >
                <div className="min-w-0 flex-1">
                  <Link
                    to="/traces/{-$traceId}/{-$spanId}"
                    params={{ traceId: root.trace_id, spanId: undefined }}
                    className="block min-h-6 truncate font-mono text-[12px] text-accent leading-6 hover:underline"
                  >
                    {root.name}
                  </Link>
                  {which === "errors" ? (
                    <p className="truncate text-[12px] text-ink-2" title={reasonOf(root)}>
                      {reasonOf(root)}
                    </p>
                  ) : (
                    <NamedSlowestSpan trace={root.trace} />
                  )}
                </div>
                {root.trace.duration_ms !== null && (
                  <Duration ms={root.trace.duration_ms} className="font-mono text-[12px]" />
                )}
                <Ago ms={root.start_time_ms} className="w-20 shrink-0 text-right text-[12px] text-ink-3" />
              </li>
            ))}
          </ul>
        </DataRegion>
      )}
    </Section>
  );
}
