import { Link } from "@tanstack/react-router";
import { rich } from "../../../labels/rich.ts";
import { t } from "../../../labels/translate.ts";
import { endOf, type SpanNode, selfTimeMs, type TraceForest } from "../../../model/span-forest.ts";
import { attributeOf, type StoredSpan } from "../../../model/trace-types.ts";
import { Duration, Timestamp } from "../../../ui/time.tsx";
import { TraceStatusBadge } from "../list/trace-columns.tsx";
import { Field, Fields, linkClass } from "./fields.tsx";

/** Name, service, duration, status, ids and position of the span. */
export function InfoTab({
  node,
  span,
  forest,
  nowMs,
}: {
  readonly node: SpanNode;
  readonly span: StoredSpan;
  readonly forest: TraceForest;
  readonly nowMs: number;
}) {
  const functionId = attributeOf(span.attributes, "svc.function_id", "function_id");
  const invocationId = attributeOf(span.attributes, "svc.invocation_id", "invocation_id");
  const { parent } = node;
  const siblings = parent?.children ?? forest.roots;
  return (
    <Fields>
      <Field name={t`Span name`} copy={span.name}>
        {span.name}
      </Field>
      <Field name={t`Service`}>
        <Link
          to="/traces/{-$traceId}/{-$spanId}"
          params={{ traceId: undefined, spanId: undefined }}
          search={{ service: span.service_name }}
          className={linkClass}
          title={t`Traces of this service`}
        >
          {span.service_name}
        </Link>
      </Field>
      <Field name={t`Duration`}>
        <Duration ms={endOf(node, nowMs) - node.startMs} className="font-mono" />
        {node.endMs === undefined && <span className="ml-1.5 text-info">{t`so far`}</span>}
      </Field>
      <Field name={t`Status`}>
        <TraceStatusBadge status={node.status} />
        {span.status_description !== undefined && <span className="ml-2 text-danger">{span.status_description}</span>}
      </Field>
      <Field name={t`Trace ID`} copy={span.trace_id}>
        <code>{span.trace_id}</code>
      </Field>
      <Field name={t`Span ID`} copy={span.span_id}>
        <code>{span.span_id}</code>
      </Field>
      <Field name={t`Parent`}>
        {span.parent_span_id === null ? (
          t`none: this is a root span`
        ) : parent?.span === undefined ? (
          <>
            <code>{span.parent_span_id}</code> <span className="text-warn">{t`not received`}</span>
          </>
        ) : (
          <Link
            to="/traces/{-$traceId}/{-$spanId}"
            params={{ traceId: span.trace_id, spanId: parent.id }}
            search
            className={linkClass}
          >
            {parent.name} <code>{parent.id}</code>
          </Link>
        )}
      </Field>
      <Field name={t`Kind`}>
        {span.kind}
        {span.internal && <span className="text-ink-3">{t`, internal to the engine`}</span>}
      </Field>
      <Field name={t`Started`}>
        <Timestamp ms={span.start_time_ms} as="date" />{" "}
        <span className="text-ink-3">{rich`(${<Duration ms={node.startMs} />} into the trace)`}</span>
      </Field>
      <Field name={t`Self time`}>
        <Duration ms={selfTimeMs(node, nowMs)} className="font-mono" />{" "}
        <span className="text-ink-3">{t`without its children`}</span>
      </Field>
      <Field name={t`Position`}>
        {t`level ${node.depth + 1} of ${forest.depth}, ${siblings.indexOf(node) + 1} of ${siblings.length} siblings, ${node.children.length} children`}
      </Field>
      {functionId !== undefined && (
        <Field name={t`Function`}>
          <Link to="/functions/{-$functionId}" params={{ functionId }} className={linkClass}>
            {functionId}
          </Link>
        </Field>
      )}
      {functionId !== undefined && invocationId !== undefined && (
        <Field name={t`Invocation`} copy={invocationId}>
          <Link
            to="/functions/{-$functionId}"
            params={{ functionId }}
            search={{ tab: "history", inv: invocationId }}
            className={linkClass}
          >
            <code>{invocationId}</code>
          </Link>
        </Field>
      )}
      {span.worker_id !== null && (
        <Field name={t`Worker`} copy={span.worker_id}>
          <Link to="/workers/{-$workerId}" params={{ workerId: span.worker_id }} className={linkClass}>
            <code>{span.worker_id}</code>
          </Link>
        </Field>
      )}
      {span.instrumentation_scope_name !== undefined && (
        <Field name={t`Scope`}>
          {span.instrumentation_scope_name} {span.instrumentation_scope_version}
        </Field>
      )}
    </Fields>
  );
}
