import { maskText } from "@svc-runtime/protocol/secrets";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "../../lib/api.ts";
import { BY_CONSOLES } from "../../lib/by-consoles.ts";
import { isMissingFunction, usePolledCall } from "../../lib/use-polled-call.ts";
import { slowestPart } from "../../model/critical-path.ts";
import { buildForest } from "../../model/span-forest.ts";
import { asyncWorkText } from "../../model/trace-outcome.ts";
import type { LeanSpan, TraceSummary } from "../../model/trace-types.ts";
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

/** Maximum number of spans that are read to find the slowest one. */
const MAX_READ_SPANS = 1_000;

/** Names the span with the largest self time on the critical path of a trace. */
function SlowestSpan({
  trace: { trace_id: traceId, span_count: spanCount, services },
}: {
  readonly trace: TraceSummary;
}) {
  const { data } = useQuery({
    // An ended trace with the same number of spans has not changed.
    queryKey: ["slowest span", traceId, spanCount],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const { spans } = await call<{ readonly spans: readonly LeanSpan[] }>(
        "engine::traces::spans",
        { trace_id: traceId, detail: "lean", limit: MAX_READ_SPANS },
        { signal },
      );
      const forest = buildForest(spans);
      return slowestPart(forest, forest.lengthMs) ?? null;
    },
  });
  if (data == null)
    return (
      <p className="truncate text-[12px] text-ink-2">
        {services.join(", ")} · {spanCount} {spanCount === 1 ? "span" : "spans"}
      </p>
    );
  return (
    <p className="min-h-6 truncate text-[12px] text-ink-2 leading-6">
      most time in{" "}
      <Link
        to="/traces/{-$traceId}/{-$spanId}"
        params={{ traceId, spanId: data.node.id }}
        className="inline-block min-h-6 font-mono text-accent hover:underline"
      >
        {data.node.name}
      </Link>{" "}
      ({data.node.service}): <Duration ms={data.selfMs} />
    </p>
  );
}

/** Returns the root's error with secrets masked, or else what failed below it. */
function reasonOf({ status_description, trace: { status, error_count, span_count, async_work } }: TraceRoot): string {
  if (status_description) return maskText(status_description);
  if (status !== "error" && async_work !== undefined && async_work.errors > 0)
    return `Asynchronous work: ${asyncWorkText(async_work)}`;
  return `${error_count} of ${span_count} spans failed`;
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
      exclude_attributes: BY_CONSOLES,
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
                    <SlowestSpan trace={root.trace} />
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
