import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { call } from "../../../lib/api.ts";
import { attributeOf, type StoredSpan } from "../../../model/trace-types.ts";
import { buttonLink } from "./button-link.ts";

/** The call that began a trace is among its first spans. */
const LOOKED_AT = 20;

/** The first call of the trace, in the form that invokes it. */
export function Replay({ traceId, spanCount }: { readonly traceId: string; readonly spanCount: number }) {
  const { data } = useQuery({
    queryKey: ["trace-first-call", traceId, Math.min(spanCount, LOOKED_AT)],
    queryFn: ({ signal }) => call<{ readonly spans: readonly StoredSpan[] }>("engine::traces::spans", { trace_id: traceId, limit: LOOKED_AT }, { signal }),
    placeholderData: (before) => before,
  });
  const first = data?.spans.find(({ attributes }) => attributeOf(attributes, "svc.invocation_id") !== undefined);
  if (first === undefined || first.trace_id !== traceId) return null;
  const functionId = attributeOf(first.attributes, "svc.function_id");
  const invocationId = attributeOf(first.attributes, "svc.invocation_id");
  if (functionId === undefined || invocationId === undefined) return null;
  return (
    <Link
      className={buttonLink}
      to="/functions/{-$functionId}"
      params={{ functionId }}
      search={{ tab: "invoke", inv: invocationId }}
      title={`Invoke ${functionId} with what it got then`}
    >
      <Play aria-hidden className="size-3.5" />
      Edit &amp; replay
    </Link>
  );
}
