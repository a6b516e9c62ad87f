import type { Attributes, AttributeValue } from "@svc-runtime/engine/module";
import { textOfValue } from "../query/attributes.ts";
import { durationMs, millisOf, NODE_ATTRIBUTE, type SpanRecord } from "../telemetry-records.ts";
import { asyncWorkOf, durationUsOf, statusOf, type TraceFacts } from "./trace-facts.ts";

/** Maximum number of attributes that a result contains for a span, an event or a link. */
const MAX_SHOWN_ATTRIBUTES = 1_024;

/** Returns a span in the form of section 10.3 of the protocol, plus members that this form does not have. */
export function storedSpan(span: SpanRecord) {
  const end = span.endUnixNano;
  return {
    trace_id: span.traceId,
    span_id: span.spanId,
    parent_span_id: span.parentSpanId ?? null,
    name: span.name,
    kind: span.kind,
    start_time_unix_nano: Number(span.startUnixNano),
    start_time_unix_nano_text: span.startUnixNano.toString(),
    start_time_ms: millisOf(span.startUnixNano),
    end_time_unix_nano: end === undefined ? null : Number(end),
    end_time_unix_nano_text: end === undefined ? null : end.toString(),
    duration_ms: end === undefined ? null : durationMs(span.startUnixNano, end),
    status: span.status,
    ...(span.statusDescription === undefined ? {} : { status_description: span.statusDescription }),
    ...(end === undefined ? { pending: true as const } : {}),
    internal: span.internal,
    service_name: span.resource.service,
    worker_id: span.resource.workerId ?? null,
    // An import needs this to distinguish the span from spans of trusted senders.
    ...(span.resource.restrictedTo === undefined ? {} : { restricted_to: span.resource.restrictedTo }),
    ...shown(span.attributes),
    events: span.events.map((event) => ({
      name: event.name,
      timestamp_unix_nano: Number(event.timeUnixNano),
      timestamp_unix_nano_text: event.timeUnixNano.toString(),
      timestamp_ms: millisOf(event.timeUnixNano),
      ...shown(event.attributes),
    })),
    links: span.links.map((link) => ({ trace_id: link.traceId, span_id: link.spanId, ...shown(link.attributes) })),
    baggage: span.baggage,
    resource: { "service.name": span.resource.service, ...span.resource.attributes },
    ...(span.scopeName === undefined ? {} : { instrumentation_scope_name: span.scopeName }),
    ...(span.scopeVersion === undefined ? {} : { instrumentation_scope_version: span.scopeVersion }),
  };
}
export type StoredSpan = ReturnType<typeof storedSpan>;

/** Maximum number of events in the short form of a span. */
const MAX_LEAN_EVENTS = 40;

/** Returns the part of a span that a timeline of thousands of spans needs. It has a twentieth of the span's size. */
export function leanSpan(span: SpanRecord) {
  const node = span.resource.attributes[NODE_ATTRIBUTE];
  return {
    span_id: span.spanId,
    parent_span_id: span.parentSpanId ?? null,
    name: span.name,
    kind: span.kind,
    start_time_unix_nano_text: span.startUnixNano.toString(),
    end_time_unix_nano_text: span.endUnixNano?.toString() ?? null,
    status: span.status,
    ...(span.statusDescription === undefined ? {} : { status_description: span.statusDescription }),
    service_name: span.resource.service,
    ...(typeof node === "string" ? { node } : {}),
    events: span.events
      .slice(0, MAX_LEAN_EVENTS)
      .map(({ name, timeUnixNano }) => ({ name, timestamp_unix_nano_text: timeUnixNano.toString() })),
  };
}

/** Returns the summary of a trace that lists show. */
export function traceSummary(facts: TraceFacts) {
  const durationUs = durationUsOf(facts);
  const asyncWork = asyncWorkOf(facts);
  return {
    trace_id: facts.traceId,
    root_span_id: facts.rootSpanId,
    root_name: facts.rootName,
    service: facts.service,
    services: facts.services,
    status: statusOf(facts),
    start_time_ms: facts.startUs / 1_000,
    duration_ms: durationUs === undefined ? null : durationUs / 1_000,
    span_count: facts.spanCount,
    error_count: facts.errorCount,
    ...(asyncWork === undefined
      ? {}
      : {
          async_work: {
            until_ms: asyncWork.untilUs === undefined ? null : asyncWork.untilUs / 1_000,
            errors: asyncWork.errors,
          },
        }),
    partial: facts.partial,
    ...(facts.triggerType === undefined ? {} : { trigger_type: facts.triggerType }),
    ...(facts.functionId === undefined ? {} : { function_id: facts.functionId }),
    ...(facts.nodes === undefined ? {} : { nodes: facts.nodes }),
  };
}

function shown(attributes: Attributes): {
  readonly attributes: [string, string][];
  readonly attributes_map: Record<string, AttributeValue>;
} {
  const pairs: [string, string][] = [];
  const map: Record<string, AttributeValue> = Object.create(null) as Record<string, AttributeValue>;
  for (const key in attributes) {
    const value = attributes[key];
    if (value === undefined) continue;
    if (pairs.length >= MAX_SHOWN_ATTRIBUTES) break;
    pairs.push([key, textOfValue(value)]);
    map[key] = value;
  }
  return { attributes: pairs, attributes_map: map };
}
