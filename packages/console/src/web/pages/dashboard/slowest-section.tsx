import { Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { plural, t } from "../../labels/translate.ts";
import { CALLS_BY_CONSOLES } from "../../lib/calls-by-consoles.ts";
import { usePolledCall } from "../../lib/use-polled-call.ts";
import type { TraceSummary } from "../../model/trace-types.ts";
import { Duration } from "../../ui/time.tsx";
import { ListRow, ListSection, SHOWN } from "./list-section.tsx";

interface TraceRoot {
  readonly trace_id: string;
  readonly name: string;
  readonly start_time_ms: number;
  readonly trace: TraceSummary;
}

const SlowestSpan = lazy(() => import("./slowest-span.tsx"));

function NamedSlowestSpan({ trace }: { readonly trace: TraceSummary }) {
  const { services, span_count: spanCount } = trace;
  const summary = (
    <p className="truncate text-[12px] text-ink-2">
      {plural(spanCount, "{0} · # span", "{0} · # spans", services.join(", "))}
    </p>
  );
  return (
    <Suspense fallback={summary}>
      <SlowestSpan trace={trace}>{summary}</SlowestSpan>
    </Suspense>
  );
}

/** The slowest traces of the range. */
export function SlowestSection({ rangeMs }: { readonly rangeMs: number }) {
  const query = usePolledCall<{ readonly spans: readonly TraceRoot[] }>(
    "engine::traces::list",
    ["slowest", rangeMs],
    () => ({
      ...{ limit: SHOWN, start_time: Date.now() - rangeMs, exclude_attributes: CALLS_BY_CONSOLES },
      ...{ sort_by: "duration", sort_order: "desc" },
    }),
  );
  return (
    <ListSection
      title={t`Slowest traces`}
      link={
        <Link
          to="/traces/{-$traceId}/{-$spanId}"
          params={{ traceId: undefined, spanId: undefined }}
          search={{ sort: "duration" }}
          className="text-[12px] text-accent underline"
        >
          {t`All traces by duration`}
        </Link>
      }
      query={query}
      rows={query.data?.spans}
      none={t`No calls in this time range`}
    >
      {({ trace_id, name, trace, start_time_ms }) => (
        <ListRow
          key={trace_id}
          {...{ traceId: trace_id, name, atMs: start_time_ms }}
          figure={trace.duration_ms !== null && <Duration ms={trace.duration_ms} className="font-mono text-[12px]" />}
        >
          <NamedSlowestSpan trace={trace} />
        </ListRow>
      )}
    </ListSection>
  );
}
