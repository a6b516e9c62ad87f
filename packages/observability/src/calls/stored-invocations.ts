import type { InvocationListing } from "@svc-runtime/protocol/listings";
import { z } from "zod";
import { attributeOf, textOfValue } from "../query/attributes.ts";
import { openCursor, readCursor, sealCursor, writeCursor } from "../query/cursor.ts";
import type { SeesCall } from "../query/sees-call.ts";
import type { SpanStore } from "../spans/span-store.ts";
import { spanStatusOf } from "../spans/trace-match.ts";
import type { TraceFilters, TracePosition } from "../spans/trace-query.ts";
import { durationMs, type SpanRecord } from "../telemetry-records.ts";
import { resultOf } from "./call-failure.ts";
import type { InvocationsQuery } from "./invocation-input.ts";

// Lists calls that are no longer in the history. Each of them has a stored span with its input and output, and survives
// a restart.

/** Number of traces per page of the store. One request searches at most `MAX_PAGES` pages. */
const PAGE = 25;
const MAX_PAGES = 40;
const CURSOR = "invocations";
const scalar = z.union([z.string(), z.number()]);
/** Start of the page of traces, and the number of calls of this page that were already returned. */
const cursorParts = z.union([z.tuple([z.int().min(0)]), z.tuple([z.int().min(0), scalar, scalar])]);

/** Returns the cursor of the first page. */
export function firstCursor({ isRestricted }: Pick<StoredQuery, "isRestricted">): string {
  return (isRestricted ? sealCursor : writeCursor)(CURSOR, [0]);
}

export interface StoredInvocations {
  readonly invocations: readonly InvocationListing[];
  readonly cursor: string | null;
}

export interface StoredQuery {
  readonly cursor: string;
  readonly limit: number;
  readonly sees: SeesCall;
  /**
   * True if the cursor must be sealed, because it may contain the position of a trace that is hidden from the caller.
   */
  readonly isRestricted: boolean;
  /** Returns true for calls that the history has. They are left out, because the history lists them. */
  readonly isElsewhere: (invocationId: string) => boolean;
}

/** Lists calls, newest trace first. */
export async function listStored(
  store: Pick<SpanStore, "list">,
  query: InvocationsQuery,
  options: StoredQuery,
): Promise<StoredInvocations> {
  const [read, write] = options.isRestricted ? [openCursor, sealCursor] : [readCursor, writeCursor];
  const cursorOf = (skip: number, after: TracePosition | undefined): string =>
    write(CURSOR, after === undefined ? [skip] : [skip, after.value, after.tie]);
  const [skipped, ...position] = read(CURSOR, options.cursor, cursorParts);
  let after: TracePosition | undefined = positionOf(position);
  let skip = skipped;
  const invocations: InvocationListing[] = [];
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await store.list({
      filters: filtersOf(query),
      ...{ sortBy: "start_time", descending: true, after, offset: 0, limit: PAGE, spans: "all" },
    });
    const calls = page.rows
      .flatMap(({ spans }) => spans.toReversed())
      .filter((span) => matches(span, query, options.sees) && !options.isElsewhere(invocationIdOf(span) ?? ""));
    const room = options.limit - invocations.length;
    invocations.push(...calls.slice(skip, skip + room).map(rowOf));
    if (skip + room < calls.length) return { invocations, cursor: cursorOf(skip + room, after) };
    skip = 0;
    after = page.next;
    if (after === undefined) return { invocations, cursor: null };
    if (invocations.length >= options.limit) break;
  }
  return { invocations, cursor: cursorOf(0, after) };
}

/** Returns the row with its input and output; null if the call is not stored or the caller may not see it. */
export async function getStored(
  store: Pick<SpanStore, "list">,
  invocationId: string,
  sees: SeesCall,
): Promise<Readonly<Record<string, unknown>> | null> {
  const { rows } = await store.list({
    filters: { ...ALL, filters: [{ key: "svc.invocation_id", op: "equals", value: invocationId }] },
    ...{ sortBy: "start_time", descending: true, after: undefined, offset: 0, limit: 1, spans: "all" },
  });
  const span = rows[0]?.spans.find((each) => invocationIdOf(each) === invocationId);
  if (span === undefined || !isSeen(span, sees)) return null;
  return {
    ...rowOf(span),
    input: payloadOf(span, "svc.input"),
    output: payloadOf(span, "svc.output"),
    error: span.status === "error" ? { ...errorOf(span), ...stackOf(span) } : null,
  };
}

const ALL: TraceFilters = { with_errors: false, include_internal: true, search_all_spans: false };

function filtersOf({ function_id, worker, trace_id, start_time, end_time }: InvocationsQuery): TraceFilters {
  const members = { function_id, worker, trace_id, start_time, end_time };
  return {
    ...ALL,
    ...Object.fromEntries(Object.entries(members).filter(([, value]) => value != null && value !== "")),
  };
}

function positionOf(parts: readonly (string | number)[]): TracePosition | undefined {
  const [value, tie] = parts;
  return value === undefined || tie === undefined ? undefined : { value, tie };
}

function textOf(span: SpanRecord, key: string): string | undefined {
  const value = attributeOf(span.attributes, key);
  return value === undefined ? undefined : textOfValue(value);
}

function invocationIdOf(span: SpanRecord): string | undefined {
  return textOf(span, "svc.invocation_id");
}

function isSeen(span: SpanRecord, sees: SeesCall): boolean {
  return sees(textOf(span, "svc.function_id") ?? "", textOf(span, "svc.caller.worker_id"));
}

/** Accepts only spans that the engine made for a call, because a worker's span may claim to be such a span. */
function matches(span: SpanRecord, query: InvocationsQuery, sees: SeesCall): boolean {
  if (span.outside === true || invocationIdOf(span) === undefined || !isSeen(span, sees)) return false;
  const functionId = textOf(span, "svc.function_id");
  const startedAtMs = Number(span.startUnixNano) / 1e6;
  if (span.internal && !query.include_internal && query.function_id !== functionId) return false;
  if (query.function_id && functionId !== query.function_id) return false;
  if (query.status && statusOf(span) !== query.status) return false;
  if (query.source && sourceOf(span) !== query.source) return false;
  if (query.worker && span.resource.service !== query.worker && textOf(span, "svc.worker.id") !== query.worker)
    return false;
  const callers = [textOf(span, "svc.caller.name"), textOf(span, "svc.caller.worker_id")];
  if (query.caller && !callers.includes(query.caller)) return false;
  if (typeof query.start_time === "number" && startedAtMs < query.start_time) return false;
  return typeof query.end_time !== "number" || startedAtMs <= query.end_time;
}

function sourceOf(span: SpanRecord): string {
  return textOf(span, "svc.source") ?? "call";
}

function statusOf(span: SpanRecord): InvocationListing["status"] {
  const status = spanStatusOf(span);
  if (status !== "error") return status;
  const result = resultOf({ code: textOf(span, "svc.error.code") ?? "" });
  return result === "timeout" || result === "cancelled" ? result : "error";
}

function rowOf(span: SpanRecord): InvocationListing {
  const workerId = textOf(span, "svc.worker.id");
  const caller = textOf(span, "svc.caller.worker_id");
  const queue = textOf(span, "svc.job.queue");
  return {
    invocation_id: invocationIdOf(span) ?? "",
    function_id: textOf(span, "svc.function_id") ?? span.name,
    worker: workerId === undefined ? null : { id: workerId, name: span.resource.service },
    caller: caller === undefined ? null : { worker_id: caller, name: textOf(span, "svc.caller.name") ?? "" },
    source: sourceOf(span),
    status: statusOf(span),
    started_at_ms: Number(span.startUnixNano) / 1e6,
    duration_ms: span.endUnixNano === undefined ? null : durationMs(span.startUnixNano, span.endUnixNano),
    input_bytes: bytesOf(span, "svc.input"),
    output_bytes: bytesOf(span, "svc.output"),
    trace_id: span.traceId,
    span_id: span.spanId,
    ...(queue === undefined
      ? {}
      : {
          job: { queue, id: textOf(span, "svc.job.id") ?? "", attempt: Number(textOf(span, "svc.job.attempt") ?? 1) },
        }),
    ...(span.status === "error" ? { error: errorOf(span) } : {}),
  };
}

function errorOf(span: SpanRecord): { readonly code: string; readonly message: string } {
  return { code: textOf(span, "svc.error.code") ?? "error", message: span.statusDescription ?? "" };
}

function stackOf(span: SpanRecord): { readonly stacktrace?: string } {
  const stack = span.events.find(({ name }) => name === "exception")?.attributes["exception.stacktrace"];
  return typeof stack === "string" ? { stacktrace: stack } : {};
}

function payloadOf(span: SpanRecord, name: string): { readonly json: string; readonly truncated: boolean } | null {
  const attributes = span.events.find((event) => event.name === name)?.attributes;
  const json = attributes?.["svc.payload.json"];
  return typeof json === "string" ? { json, truncated: attributes?.["svc.payload.truncated"] === true } : null;
}

function bytesOf(span: SpanRecord, name: string): number {
  return Number(span.events.find((event) => event.name === name)?.attributes["svc.payload.bytes"] ?? 0);
}
