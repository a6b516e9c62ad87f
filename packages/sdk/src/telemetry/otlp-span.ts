import { OtlpAttributes } from "./otlp-values.ts";
import { SPAN_KINDS } from "./span.ts";
import { MAX_EVENTS, MAX_NAME_CHARS, type SpanRecord } from "./span-record.ts";
import { nanosOf } from "./wall-time.ts";

const STATUS_ERROR = 2;

/** Returns a span as a `Span` of OTLP/JSON. Never throws. */
export function otlpSpan(span: SpanRecord): string {
  const attributes = new OtlpAttributes();
  attributes.set("svc.function_id", span.functionId);
  attributes.set("svc.invocation_id", span.invocationId);
  for (const [name, value] of span.attributes) attributes.set(name, value);
  const events = span.events.map((event) => ({
    timeUnixNano: nanosOf(event.timeMs),
    name: event.name,
    attributes: listOf(event.attributes),
  }));
  const { failure } = span;
  let { droppedEvents } = span;
  if (failure !== undefined) {
    if (events.length < MAX_EVENTS) events.push(exceptionEvent(failure.thrown, span.endMs));
    else droppedEvents++;
  }
  return JSON.stringify({
    traceId: span.context.traceId,
    spanId: span.context.spanId,
    parentSpanId: span.parentSpanId,
    flags: Number(span.context.sampled),
    name: span.name,
    kind: SPAN_KINDS[span.kind],
    startTimeUnixNano: nanosOf(span.startMs),
    endTimeUnixNano: nanosOf(Math.max(span.startMs, span.endMs)),
    attributes: attributes.list,
    droppedAttributesCount: span.droppedAttributes + attributes.dropped || undefined,
    events,
    droppedEventsCount: droppedEvents || undefined,
    status: failure === undefined ? { code: 0 } : { code: STATUS_ERROR, message: messageOf(failure.thrown) },
  });
}

function listOf(members: Readonly<Record<string, unknown>>): OtlpAttributes["list"] {
  const attributes = new OtlpAttributes();
  for (const [name, value] of Object.entries(members)) attributes.set(name, value);
  return attributes.list;
}

function exceptionEvent(thrown: unknown, timeMs: number) {
  const attributes = new OtlpAttributes();
  if (thrown instanceof Error) attributes.exception(thrown);
  else attributes.set("exception.message", messageOf(thrown));
  return { timeUnixNano: nanosOf(timeMs), name: "exception", attributes: attributes.list };
}

function messageOf(thrown: unknown): string {
  try {
    return (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, MAX_NAME_CHARS);
  } catch {
    return "an error whose message cannot be read";
  }
}
