import type { Attributes, SpanKind } from "@svc-runtime/engine/module";
import type { Resource, SpanEvent, SpanLink, SpanRecord } from "../telemetry-records.ts";
import {
  type DecodeContext,
  type Origin,
  readOwnAttributes,
  readResource,
  recordsOf,
  type ScopeNames,
} from "./decode-context.ts";
import { MAX_BODY_BYTES, MAX_EVENTS, MAX_LINKS, MAX_NAME_BYTES, RecordBudget } from "./limits.ts";
import {
  asInteger,
  asList,
  asObject,
  asText,
  isSuspect,
  type JsonObject,
  NO_ATTRIBUTES,
  readAttributes,
  readId,
  readNanos,
  withMarks,
} from "./values.ts";

const NAMES = { resources: "resourceSpans", scopes: "scopeSpans", records: "spans" } as const;
/** Span kinds by their OTLP number. The number 0 means unspecified. */
const KINDS: readonly SpanKind[] = ["internal", "internal", "server", "client", "producer", "consumer"];
const CONSUMER = 5;
const NO_BAGGAGE: Readonly<Record<string, string>> = Object.freeze({});
/** Approximate size of an empty span, in bytes. */
const SPAN_BYTES = 400;
/** Approximate size of an event or a link, in bytes. */
const PART_BYTES = 100;

/** Reasons for dropping a span. They are few and fixed, because each reason has a counter. */
type Refusal = "malformed" | "bad_id" | "bad_time";

export function* decodeTraces(body: unknown, context: DecodeContext): Generator<boolean> {
  for (const { resource: json, scope, records } of recordsOf(body, NAMES)) {
    const resource = readResource(json, context, "spans");
    const kindOffset = countsKindsFromZero(resource, records, context) ? 1 : 0;
    // The sampled flag is read from our SDKs only. Other senders often send 0 without meaning "not sampled".
    const hasFlags = context.origin.isFrame && resource.attributes["telemetry.sdk.name"] === "svc";
    for (const record of records) {
      const span = readSpan(asObject(record), { resource, scope, kindOffset, hasFlags, context });
      if (typeof span === "string") context.drops.dropped("spans", span, 1);
      // Pending spans are passed as ended ones too. Their end may never arrive, so they must not be tracked like the
      // engine's own pending spans.
      else context.spans.ended(span);
      yield typeof span !== "string";
    }
  }
}

/**
 * Returns true if the sender numbers span kinds from 0 instead of 1, as the published Python client does. It is
 * recognized as the only client that sends frames as Python without our SDK name. A span with a kind that this client
 * cannot have sent proves that the sender is another one.
 */
function countsKindsFromZero({ attributes }: Resource, spans: readonly unknown[], { origin }: DecodeContext): boolean {
  const isForeignPython =
    origin.isFrame && attributes["telemetry.sdk.language"] === "python" && attributes["telemetry.sdk.name"] !== "svc";
  return isForeignPython && spans.every((span) => asInteger(asObject(span)?.kind) !== CONSUMER);
}

interface SpanPlace {
  readonly resource: Resource;
  readonly scope: ScopeNames;
  readonly kindOffset: number;
  readonly hasFlags: boolean;
  readonly context: DecodeContext;
}

function readSpan(
  json: JsonObject | undefined,
  { resource, scope, kindOffset, hasFlags, context }: SpanPlace,
): SpanRecord | Refusal {
  if (json === undefined) return "malformed";
  const traceId = readId(json.traceId, 32);
  const spanId = readId(json.spanId, 16);
  const parentSpanId = readId(json.parentSpanId, 16);
  if (typeof traceId !== "string" || typeof spanId !== "string" || parentSpanId === null || parentSpanId === spanId)
    return "bad_id";
  const start = readNanos(json.startTimeUnixNano);
  const end = readNanos(json.endTimeUnixNano);
  if (start === null || end === null || start === undefined) return "bad_time";
  const budget = new RecordBudget("spans", context.drops);
  const name = budget.cut(asText(json.name) ?? "", MAX_NAME_BYTES);
  const status = readStatus(asObject(json.status));
  const statusDescription = status.message === undefined ? undefined : budget.cut(status.message, MAX_BODY_BYTES);
  const endsEarly = end !== undefined && end < start;
  const isWrong =
    endsEarly || isSuspect(start, context.nowNanos) || (end !== undefined && isSuspect(end, context.nowNanos));
  const own = readOwnAttributes(json.attributes, budget, context.origin);
  const attributes = isWrong ? withMarks(own, { "svc.time_suspect": true }) : own;
  const events = readEvents(asList(json.events), { startNanos: start, budget, origin: context.origin });
  const links = readLinks(asList(json.links), budget);
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind: readKind(json.kind, kindOffset),
    startUnixNano: start,
    endUnixNano: endsEarly ? start : end,
    status: status.status,
    statusDescription,
    attributes,
    events,
    links,
    baggage: NO_BAGGAGE,
    resource,
    ...scope,
    // Only trusted senders can mark a span as internal. Otherwise a restricted sender could hide a trace from lists by
    // sending an internal root span.
    internal: context.origin.restrictedTo === undefined && isInternal(attributes),
    // Spans of other senders count as sampled, because these have sampled already. Our SDKs leave the decision to the
    // engine.
    sampled: !(hasFlags && isUnsampled(json.flags)),
    outside: true,
    size: SPAN_BYTES + budget.used + (events.length + links.length) * PART_BYTES,
  };
}

/** Returns true if the sampled flag, the lowest bit of the trace flags of W3C Trace Context, is not set. */
function isUnsampled(flags: unknown): boolean {
  const number = asInteger(flags);
  return number !== undefined && (number & 1) === 0;
}

function readKind(value: unknown, offset: number): SpanKind {
  if (typeof value === "string" && value.startsWith("SPAN_KIND_")) {
    return KINDS.find((kind) => kind.toUpperCase() === value.slice("SPAN_KIND_".length)) ?? "internal";
  }
  return KINDS[(asInteger(value) ?? 0) + offset] ?? "internal";
}

function readStatus(json: JsonObject | undefined): {
  readonly status: SpanRecord["status"];
  readonly message: string | undefined;
} {
  const code = json?.code;
  const message = asText(json?.message);
  if (code === "STATUS_CODE_ERROR" || asInteger(code) === 2) return { status: "error", message };
  const isOk = code === "STATUS_CODE_OK" || asInteger(code) === 1;
  return { status: isOk ? "ok" : "unset", message: message === "" ? undefined : message };
}

interface EventPlace {
  readonly startNanos: bigint;
  readonly budget: RecordBudget;
  readonly origin: Origin;
}

function readEvents(list: readonly unknown[], { startNanos, budget, origin }: EventPlace): readonly SpanEvent[] {
  const events: SpanEvent[] = [];
  for (const item of list.slice(0, MAX_EVENTS)) {
    const json = asObject(item);
    if (json === undefined || !budget.take(PART_BYTES)) continue;
    const name = budget.cut(asText(json.name) ?? "", MAX_NAME_BYTES);
    events.push({
      name,
      timeUnixNano: readNanos(json.timeUnixNano) ?? startNanos,
      attributes: readOwnAttributes(json.attributes, budget, origin),
    });
  }
  budget.leftOut("events", list.length - events.length);
  return events;
}

function readLinks(list: readonly unknown[], budget: RecordBudget): readonly SpanLink[] {
  const links: SpanLink[] = [];
  for (const item of list.slice(0, MAX_LINKS)) {
    const json = asObject(item);
    const traceId = readId(json?.traceId, 32);
    const spanId = readId(json?.spanId, 16);
    if (typeof traceId !== "string" || typeof spanId !== "string" || !budget.take(PART_BYTES)) continue;
    links.push({
      traceId,
      spanId,
      attributes: json?.attributes === undefined ? NO_ATTRIBUTES : readAttributes(json.attributes, budget),
    });
  }
  budget.leftOut("links", list.length - links.length);
  return links;
}

/** Returns true if the span has the attributes with which published clients mark internal spans. */
function isInternal(attributes: Attributes): boolean {
  const id = attributes.function_id;
  return (
    attributes["iii.function.kind"] === "internal" ||
    attributes["svc.internal"] === true ||
    (typeof id === "string" && id.startsWith("engine::"))
  );
}
