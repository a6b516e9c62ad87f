import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { t } from "../../labels/translate.ts";
import { batchedCall } from "../../lib/batched-call.ts";
import { slowestPart } from "../../model/critical-path.ts";
import { buildForest } from "../../model/span-forest.ts";
import type { LeanSpan, TraceSummary } from "../../model/trace-types.ts";
import { Duration } from "../../ui/time.tsx";

/** Maximum number of spans that are read to find the slowest one. */
const MAX_READ_SPANS = 1_000;

/**
 * Shows the name of the span with the largest self time on the critical path of a trace. Shows `children` until that
 * span is known.
 */
export default function SlowestSpan({
  trace: { trace_id: traceId, span_count: spanCount },
  children,
}: {
  readonly trace: TraceSummary;
  readonly children: React.ReactNode;
}) {
  const { data } = useQuery({
    // The result stays valid: a trace that has ended has not changed if it has the same number of spans.
    queryKey: ["slowest span", traceId, spanCount],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const { spans } = await batchedCall<{ readonly spans: readonly LeanSpan[] }>(
        "engine::traces::spans",
        { trace_id: traceId, detail: "lean", limit: MAX_READ_SPANS },
        { signal },
      );
      const forest = buildForest(spans);
      return slowestPart(forest, forest.lengthMs) ?? null;
    },
  });
  if (data == null) return children;
  return (
    <p className="min-h-6 truncate text-[12px] text-ink-2 leading-6">
      {t`most time in`}{" "}
      <Link
        to="/traces/{-$traceId}/{-$spanId}"
        params={{ traceId, spanId: data.node.id }}
        className="inline-block min-h-6 font-mono text-accent hover:underline"
      >
        {data.node.name}
      </Link>{" "}
      {"("}
      {data.node.service}
      {"): "}
      <Duration ms={data.selfMs} />
    </p>
  );
}
