import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { t } from "../../../labels/translate.ts";
import { call } from "../../../lib/api.ts";
import { attributeOf, type StoredSpan } from "../../../model/trace-types.ts";

/** Number of spans that are searched for the first call of the trace. It is among the first spans. */
const SEARCHED_SPANS = 20;

/** Class names of a link that looks like a button. */
export const BUTTON_LINK =
  "inline-flex h-7 items-center gap-1.5 whitespace-nowrap rounded-md border border-line bg-surface px-2.5 hover:bg-hover";

/** Link to the form that invokes a function. The form is filled with the first call of the trace. */
export function Replay({ traceId, spanCount }: { readonly traceId: string; readonly spanCount: number }) {
  const { data } = useQuery({
    queryKey: ["trace-first-call", traceId, Math.min(spanCount, SEARCHED_SPANS)],
    queryFn: ({ signal }) =>
      call<{ readonly spans: readonly StoredSpan[] }>(
        "engine::traces::spans",
        { trace_id: traceId, limit: SEARCHED_SPANS },
        { signal },
      ),
    placeholderData: (before) => before,
  });
  const first = data?.spans.find(({ attributes }) => attributeOf(attributes, "svc.invocation_id") !== undefined);
  if (first === undefined || first.trace_id !== traceId) return null;
  const functionId = attributeOf(first.attributes, "svc.function_id");
  const invocationId = attributeOf(first.attributes, "svc.invocation_id");
  if (functionId === undefined || invocationId === undefined) return null;
  return (
    <Link
      className={BUTTON_LINK}
      to="/functions/{-$functionId}"
      params={{ functionId }}
      search={{ tab: "invoke", inv: invocationId }}
      title={t`Invoke ${functionId} again with the same payload`}
    >
      <Play aria-hidden className="size-3.5" />
      {t`Edit & replay`}
    </Link>
  );
}
