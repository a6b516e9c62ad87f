import { attributeOf, textOfValue } from "../query/attributes.ts";
import type { SpanRecord } from "../telemetry-records.ts";

/** Maximum number of service names in a trace's row. */
export const MAX_SERVICES = 100;
/** Maximum number of functions in a trace's row. */
export const MAX_FUNCTIONS = 100;
const MAX_TEXT = 512;
/**
 * Maximum number of failed spans whose end is remembered. Further ones count as failed, but not as asynchronous work.
 */
export const MAX_ERROR_ENDS = 100;
/**
 * Work that ends this long after the root span, in microseconds, is asynchronous. The clocks of processes differ by
 * less than that.
 */
const ASYNC_AFTER_US = 2_000;

/** Facts about a trace, updated with each span. Times are in microseconds since 1970, clamped to safe integers. */
export interface TraceFacts {
  readonly traceId: string;
  rootSpanId: string;
  /** True if no span without a parent has arrived. The earliest span is then used as the root. */
  partial: boolean;
  rootStartUs: number;
  /** Undefined while the root span is running. */
  rootEndUs: number | undefined;
  rootStatus: SpanRecord["status"];
  rootName: string;
  service: string;
  services: readonly string[];
  /** True if the root span is the engine's own work. */
  internal: boolean;
  triggerType: string | undefined;
  /** Function of the earliest span that has one. */
  functionId: string | undefined;
  functionStartUs: number;
  /** Functions of all spans, each once, in order of arrival. Filters by function use them. */
  functions: readonly string[];
  startUs: number;
  endUs: number;
  spanCount: number;
  errorCount: number;
  /** Ends of the failed spans, at most MAX_ERROR_ENDS. */
  errorEndsUs: number[];
  pendingCount: number;
  /** Nodes of the cluster that have spans of the trace. Undefined if the engine is in no cluster. */
  nodes?: readonly string[];
}

export type TraceStatus = "ok" | "error" | "pending";

/** Returns the status of the root span. Without a root span, returns the status of all spans together. */
export function statusOf(facts: TraceFacts): TraceStatus {
  if (facts.partial ? facts.pendingCount > 0 : facts.rootEndUs === undefined) return "pending";
  return (facts.partial ? facts.errorCount > 0 : facts.rootStatus === "error") ? "error" : "ok";
}

/**
 * Returns the duration of the root span. Without a root span, returns the time from the first start to the last end.
 * Returns undefined while the trace is pending.
 */
export function durationUsOf(facts: TraceFacts): number | undefined {
  if (facts.partial) return facts.pendingCount > 0 ? undefined : Math.max(0, facts.endUs - facts.startUs);
  return facts.rootEndUs === undefined ? undefined : Math.max(0, facts.rootEndUs - facts.rootStartUs);
}

/** Work of a trace that continues after its root span has ended, for example a job that a request enqueued. */
export interface AsyncWork {
  /** Time from the root span's start to the last end. Undefined while a span is running. */
  readonly untilUs: number | undefined;
  /** Number of failed spans that ended after the root span. */
  readonly errors: number;
}

/**
 * Returns the asynchronous work of a trace. Returns undefined if no work is known that continues after the root span.
 */
export function asyncWorkOf(facts: TraceFacts): AsyncWork | undefined {
  const { rootEndUs, rootStartUs, endUs, pendingCount } = facts;
  if (facts.partial || rootEndUs === undefined) return undefined;
  if (pendingCount === 0 && endUs <= rootEndUs + ASYNC_AFTER_US) return undefined;
  return {
    untilUs: pendingCount > 0 ? undefined : endUs - rootStartUs,
    errors: facts.errorEndsUs.filter((us) => us > rootEndUs + ASYNC_AFTER_US).length,
  };
}

export function microsOf(unixNano: bigint): number {
  const micros = Number(unixNano / 1_000n);
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, micros));
}

export function newFacts(span: SpanRecord): TraceFacts {
  return {
    traceId: span.traceId,
    ...rootPart(span),
    services: [],
    functionId: undefined,
    functionStartUs: Number.MAX_SAFE_INTEGER,
    functions: [],
    startUs: Number.MAX_SAFE_INTEGER,
    endUs: Number.MIN_SAFE_INTEGER,
    spanCount: 0,
    errorCount: 0,
    errorEndsUs: [],
    pendingCount: 0,
  };
}

/** Returns the facts of a trace from its spans. Returns undefined if there are no spans. */
export function factsOf(spans: readonly SpanRecord[]): TraceFacts | undefined {
  const [first] = spans;
  if (first === undefined) return undefined;
  const facts = newFacts(first);
  for (const span of spans) addToFacts(facts, span);
  return facts;
}

/** Adds a span to the facts. `instead` is the earlier state of the same span, which the new state replaces. */
export function addToFacts(
  facts: TraceFacts,
  span: SpanRecord,
  instead?: Pick<SpanRecord, "endUnixNano" | "status">,
): void {
  if (instead === undefined) facts.spanCount += 1;
  else count(facts, instead, -1);
  count(facts, span, 1);
  const startUs = microsOf(span.startUnixNano);
  facts.startUs = Math.min(facts.startUs, startUs);
  if (span.endUnixNano !== undefined) facts.endUs = Math.max(facts.endUs, microsOf(span.endUnixNano));
  facts.services = withName(facts.services, span.resource.service, MAX_SERVICES);
  if (isBetterRoot(facts, span, startUs)) Object.assign(facts, rootPart(span));
  const functionId = functionOf(span);
  if (functionId === undefined) return;
  facts.functions = withName(facts.functions, functionId, MAX_FUNCTIONS);
  if (startUs >= facts.functionStartUs) return;
  facts.functionId = functionId;
  facts.functionStartUs = startUs;
}

/**
 * Returns a new list with the name. It is copied, because an array that grows has room for 17 items, which most traces
 * never need.
 */
function withName(names: readonly string[], name: string, max: number): readonly string[] {
  return names.includes(name) || names.length >= max ? names : [...names, name];
}

function count(facts: TraceFacts, span: Pick<SpanRecord, "endUnixNano" | "status">, by: 1 | -1): void {
  if (span.endUnixNano === undefined) facts.pendingCount += by;
  if (span.status !== "error") return;
  facts.errorCount += by;
  if (span.endUnixNano === undefined) return;
  const endUs = microsOf(span.endUnixNano);
  if (by === 1 && facts.errorEndsUs.length < MAX_ERROR_ENDS) facts.errorEndsUs.push(endUs);
  const at = by === 1 ? -1 : facts.errorEndsUs.indexOf(endUs);
  if (at !== -1) facts.errorEndsUs.splice(at, 1);
}

/**
 * Returns true if the span is a better root than the present one. The root span itself counts as better, because its
 * attributes may arrive with its end.
 */
function isBetterRoot(facts: TraceFacts, span: SpanRecord, startUs: number): boolean {
  if (span.spanId === facts.rootSpanId) return true;
  const parentless = isRoot(span);
  if (parentless !== !facts.partial) return parentless;
  return startUs < facts.rootStartUs || (startUs === facts.rootStartUs && span.spanId < facts.rootSpanId);
}

export function isRoot(span: SpanRecord): boolean {
  return span.parentSpanId === undefined || span.parentSpanId === span.spanId;
}

function rootPart(span: SpanRecord) {
  return {
    rootSpanId: span.spanId,
    partial: !isRoot(span),
    rootStartUs: microsOf(span.startUnixNano),
    rootEndUs: span.endUnixNano === undefined ? undefined : microsOf(span.endUnixNano),
    rootStatus: span.status,
    rootName: span.name.slice(0, MAX_TEXT),
    service: span.resource.service,
    internal: span.internal,
    triggerType: triggerTypeOf(span),
  };
}

function functionOf(span: SpanRecord): string | undefined {
  const value = attributeOf(span.attributes, "svc.function_id");
  return value === undefined ? undefined : textOfValue(value).slice(0, MAX_TEXT);
}

/** Returns the type that the module set. Without one, derives the type from OpenTelemetry's semantic conventions. */
function triggerTypeOf({ attributes }: SpanRecord): string | undefined {
  const type = attributeOf(attributes, "svc.trigger.type");
  if (typeof type === "string") return type.slice(0, MAX_TEXT);
  if (attributeOf(attributes, "http.request.method") !== undefined) return "http";
  return attributeOf(attributes, "svc.job.queue") === undefined ? undefined : "queue";
}
