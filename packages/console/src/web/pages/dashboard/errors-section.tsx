import { maskText } from "@svc-runtime/protocol/secrets";
import { Link } from "@tanstack/react-router";
import { t } from "../../labels/translate.ts";
import { atLeast } from "../../lib/at-least.ts";
import { usePolledCall } from "../../lib/use-polled-call.ts";
import { Sparkline } from "../../ui/sparkline.tsx";
import { ListRow, ListSection, SHOWN } from "./list-section.tsx";

/** Failed calls with the same cause, in the form of `engine::invocations::errors`. */
interface ErrorCause {
  readonly function_id: string;
  readonly code: string;
  readonly message: string;
  readonly count: number;
  readonly counts?: readonly number[];
  readonly last_at_ms: number;
  readonly last: { readonly invocation_id: string; readonly trace_id: string; readonly span_id: string };
}

/** Number of points of a cause's chart. */
const POINTS = 30;

/** The latest errors of the range, one row for each cause. A row links to the span of its latest failure. */
export function ErrorsSection({ rangeMs }: { readonly rangeMs: number }) {
  const query = usePolledCall<{
    readonly errors: readonly ErrorCause[];
    /** True if older failed calls of the range are no longer stored. */
    readonly counts_are_lower_bounds?: true;
  }>("engine::invocations::errors", [rangeMs], () => ({
    start_time: Date.now() - rangeMs,
    limit: SHOWN,
    buckets: POINTS,
  }));
  const isPart = query.data?.counts_are_lower_bounds === true;
  return (
    <ListSection
      title={t`Latest errors`}
      link={
        <Link
          to="/traces/{-$traceId}/{-$spanId}"
          params={{ traceId: undefined, spanId: undefined }}
          search={{ failed: true }}
          className="text-[12px] text-accent underline"
        >
          {t`All failed traces`}
        </Link>
      }
      query={query}
      rows={query.data?.errors}
      none={t`No errors in this time range`}
    >
      {({ function_id: id, code, message, count, counts = [], last_at_ms: atMs, last }) => (
        <ListRow
          key={last.invocation_id}
          {...{ traceId: last.trace_id, spanId: last.span_id, name: id, atMs }}
          figure={
            <>
              <Sparkline
                values={counts}
                text={t`Failures of ${id} over time`}
                tone="danger"
                className="w-16 self-center max-sm:hidden"
              />
              <span
                className="w-12 shrink-0 text-right font-mono text-[12px] text-danger"
                title={
                  isPart
                    ? t`${atLeast(count, isPart)} failed calls with this cause; older ones are no longer stored`
                    : t`${atLeast(count, isPart)} failed calls with this cause`
                }
              >
                {atLeast(count, isPart)}×
              </span>
            </>
          }
        >
          <p className="truncate text-[12px] text-ink-2" title={maskText(message)}>
            <code className="text-ink">{code}</code> {maskText(message)}
          </p>
        </ListRow>
      )}
    </ListSection>
  );
}
