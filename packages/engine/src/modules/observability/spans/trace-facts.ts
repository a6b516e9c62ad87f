import type { SpanRecord } from "../model.ts";
import { attributeOf, textOfValue } from "../query/attributes.ts";

/** Names of services that a trace's row lists, at most. */
const MAX_SERVICES = 100;
/** Functions that a trace is counted for, at most. */
const MAX_FUNCTIONS = 100;
const MAX_TEXT = 512;

/** What is known of a trace without looking at its spans. Grows with each span of it. Times are microseconds since 1970, within what a number holds. */
export interface TraceFacts {
  readonly traceId: string;
  rootSpanId: string;
  /** No span without a parent has come: the earliest span stands for the root. */
  partial: boolean;
  rootStartUs: number;
  rootName: string;
  /** The root's. */
  service: string;
  /** In the order of their coming. */
  services: string[];
  /** The root is of the engine's own working. */
  internal: boolean;
  triggerType: string | undefined;
  /** Of the earliest span that has one. */
  functionId: string | undefined;
  functionStartUs: number;
  /** Of all spans that have one, each once, in the order of their coming: what a filter by function finds the trace for. */
  functions: string[];
  startUs: number;
  endUs: number;
  spanCount: number;
  errorCount: number;
  pendingCount: number;
}

export type TraceStatus = "ok" | "error" | "pending";

export function statusOf(facts: Pick<TraceFacts, "errorCount" | "pendingCount">): TraceStatus {
  if (facts.pendingCount > 0) return "pending";
  return facts.errorCount > 0 ? "error" : "ok";
}

/** From the first beginning to the last end; undefined while it is pending. */
export function durationUsOf(facts: TraceFacts): number | undefined {
  return facts.pendingCount > 0 ? undefined : Math.max(0, facts.endUs - facts.startUs);
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
    pendingCount: 0,
  };
}

/** Undefined when there is no span. */
export function factsOf(spans: readonly SpanRecord[]): TraceFacts | undefined {
  const [first] = spans;
  if (first === undefined) return undefined;
  const facts = newFacts(first);
  for (const span of spans) addToFacts(facts, span);
  return facts;
}

/** Takes in one span more; `instead` is the state of the same span that was taken in before. */
export function addToFacts(facts: TraceFacts, span: SpanRecord, instead?: Pick<SpanRecord, "endUnixNano" | "status">): void {
  if (instead === undefined) facts.spanCount += 1;
  else count(facts, instead, -1);
  count(facts, span, 1);
  const startUs = microsOf(span.startUnixNano);
  facts.startUs = Math.min(facts.startUs, startUs);
  if (span.endUnixNano !== undefined) facts.endUs = Math.max(facts.endUs, microsOf(span.endUnixNano));
  if (!facts.services.includes(span.resource.service) && facts.services.length < MAX_SERVICES) facts.services.push(span.resource.service);
  if (isBetterRoot(facts, span, startUs)) Object.assign(facts, rootPart(span));
  const functionId = functionOf(span);
  if (functionId === undefined) return;
  if (!facts.functions.includes(functionId) && facts.functions.length < MAX_FUNCTIONS) facts.functions.push(functionId);
  if (startUs >= facts.functionStartUs) return;
  facts.functionId = functionId;
  facts.functionStartUs = startUs;
}

function count(facts: TraceFacts, span: Pick<SpanRecord, "endUnixNano" | "status">, by: 1 | -1): void {
  if (span.endUnixNano === undefined) facts.pendingCount += by;
  if (span.status === "error") facts.errorCount += by;
}

/** The same span again is, since its attributes may have come with its end. */
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

/** As the module that began the trace says, else what the conventions of OpenTelemetry show. */
function triggerTypeOf({ attributes }: SpanRecord): string | undefined {
  const told = attributeOf(attributes, "svc.trigger.type");
  if (typeof told === "string") return told.slice(0, MAX_TEXT);
  if (attributeOf(attributes, "http.request.method") !== undefined) return "http";
  return attributeOf(attributes, "svc.job.queue") === undefined ? undefined : "queue";
}
