import type { SecretMask } from "@svc-runtime/protocol";
import type { SpanRecord } from "../telemetry-records.ts";

/**
 * Returns a copy of the span with masked secrets, to be shown or stored on disk. It reads all members, including those
 * that are computed.
 */
export function redactSpan(span: SpanRecord, redactor: SecretMask): SpanRecord {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    name: span.name,
    kind: span.kind,
    startUnixNano: span.startUnixNano,
    endUnixNano: span.endUnixNano,
    status: span.status,
    statusDescription: span.statusDescription,
    attributes: redactor.attributes(span.attributes),
    events: span.events.map((event) => ({ ...event, attributes: redactor.attributes(event.attributes) })),
    links: span.links.map((link) => ({ ...link, attributes: redactor.attributes(link.attributes) })),
    baggage: redactor.attributes(span.baggage) as Readonly<Record<string, string>>,
    resource: { ...span.resource, attributes: redactor.attributes(span.resource.attributes) },
    scopeName: span.scopeName,
    scopeVersion: span.scopeVersion,
    internal: span.internal,
    sampled: span.sampled,
    outside: span.outside,
    size: span.size,
  };
}
