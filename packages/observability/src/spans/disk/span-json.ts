import type { SpanEvent, SpanLink, SpanRecord } from "../../telemetry-records.ts";

/** A span as JSON in the database. Times are decimal strings, because JSON numbers would round them. */
export interface SpanJson extends Omit<SpanRecord, "startUnixNano" | "endUnixNano" | "events" | "size"> {
  readonly start: string;
  readonly end?: string;
  readonly events: readonly (Omit<SpanEvent, "timeUnixNano"> & { readonly time: string })[];
  readonly links: readonly SpanLink[];
}

export function writeSpan(span: SpanRecord): string {
  const json: SpanJson = {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    name: span.name,
    kind: span.kind,
    start: span.startUnixNano.toString(),
    ...(span.endUnixNano === undefined ? {} : { end: span.endUnixNano.toString() }),
    status: span.status,
    statusDescription: span.statusDescription,
    attributes: span.attributes,
    events: span.events.map(({ name, timeUnixNano, attributes }) => ({
      name,
      time: timeUnixNano.toString(),
      attributes,
    })),
    links: span.links,
    baggage: span.baggage,
    resource: span.resource,
    scopeName: span.scopeName,
    scopeVersion: span.scopeVersion,
    internal: span.internal,
    sampled: span.sampled,
    outside: span.outside,
  };
  return JSON.stringify(json);
}

/** Parses a text that `writeSpan` wrote. */
export function readSpan(text: string): SpanRecord {
  // The text is not validated, because only this store writes the database, and the database's own checks detect
  // damage.
  return spanOfJson(JSON.parse(text) as SpanJson, text.length);
}

export function spanOfJson({ start, end, events, ...rest }: SpanJson, size: number): SpanRecord {
  return {
    ...rest,
    parentSpanId: rest.parentSpanId,
    startUnixNano: BigInt(start),
    endUnixNano: end === undefined ? undefined : BigInt(end),
    events: events.map(({ name, time, attributes }) => ({ name, timeUnixNano: BigInt(time), attributes })),
    size,
  };
}
