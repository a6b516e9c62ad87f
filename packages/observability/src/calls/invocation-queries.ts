import { CallError, type SecretMask } from "@svc-runtime/protocol";
import type { InvocationListing } from "@svc-runtime/protocol/listings";
import type { SeesCall } from "../query/sees-call.ts";
import type { SpanStore } from "../spans/span-store.ts";
import type { CallRecord } from "./call-record.ts";
import type { InvocationHistory } from "./invocation-history.ts";
import type { InvocationsQuery } from "./invocation-input.ts";

const DEFAULT_LIMIT = 50;
/** Form of a cursor in the history. Cursors in the stored calls are longer. */
const SEQUENCE = /^[0-9]{1,15}$/;

/** Returns `{invocations, cursor, total}`. A cursor stays valid when new calls arrive. */
export function listInvocations(
  history: InvocationHistory,
  query: InvocationsQuery,
  sees: SeesCall,
): { readonly invocations: readonly InvocationListing[]; readonly cursor: string | null; readonly total: number } {
  const before = query.cursor ? sequenceOf(query.cursor) : Number.POSITIVE_INFINITY;
  const limit = query.limit ?? DEFAULT_LIMIT;
  const invocations: InvocationListing[] = [];
  let cursor: string | null = null;
  let last = 0;
  let total = 0;
  for (const record of history) {
    if (!matches(record, query) || !sees(record.facts.functionId, record.caller?.worker_id)) continue;
    total++;
    if (record.sequence >= before) continue;
    if (invocations.length < limit) {
      invocations.push(rowOf(record));
      last = record.sequence;
    } else cursor ??= String(last);
  }
  return { invocations, cursor, total };
}

/**
 * Like `listInvocations`, but continues with the calls of stored spans. `total` counts all matches in the history, but
 * of the stored calls only those on this page.
 */
export async function listWithStored(
  history: InvocationHistory,
  store: SpanStore,
  query: InvocationsQuery,
  { sees, isRestricted }: { readonly sees: SeesCall; readonly isRestricted: boolean },
): Promise<ReturnType<typeof listInvocations> & { readonly total_is_lower_bound?: true }> {
  const { firstCursor, listStored } = await import("./stored-invocations.ts");
  const limit = query.limit ?? DEFAULT_LIMIT;
  const isStored = typeof query.cursor === "string" && !SEQUENCE.test(query.cursor);
  const recent = listInvocations(history, isStored ? { ...query, cursor: null, limit: 1 } : query, sees);
  if (!isStored && recent.cursor !== null) return { ...recent, total_is_lower_bound: true };
  const newest = isStored ? [] : recent.invocations;
  if (newest.length >= limit) return { ...recent, cursor: firstCursor({ isRestricted }), total_is_lower_bound: true };
  const older = await listStored(store, query, {
    cursor: isStored ? (query.cursor as string) : firstCursor({ isRestricted }),
    limit: limit - newest.length,
    ...{ sees, isRestricted },
    isElsewhere: idsIn(history),
  });
  return {
    invocations: [...newest, ...older.invocations],
    cursor: older.cursor,
    total: recent.total + older.invocations.length,
    ...(older.cursor === null && !isStored ? {} : { total_is_lower_bound: true }),
  };
}

function idsIn(history: InvocationHistory): (invocationId: string) => boolean {
  const ids = new Set([...history].map(({ invocationId }) => invocationId));
  return (id) => ids.has(id);
}

/** Returns the row with its input and output, or null if the call is not stored or the caller may not see it. */
export function getInvocation(
  history: InvocationHistory,
  invocationId: string,
  sees: SeesCall,
  redactor: SecretMask,
): Readonly<Record<string, unknown>> | null {
  const record = history.byId(invocationId);
  if (record === undefined || !sees(record.facts.functionId, record.caller?.worker_id)) return null;
  const { failure, input, output } = record;
  return {
    ...rowOf(record),
    input: input === undefined ? null : { json: redactor.json(input), truncated: record.inputCut },
    output: output === undefined ? null : { json: redactor.json(output), truncated: record.outputCut },
    error:
      failure === undefined
        ? null
        : {
            code: failure.code,
            message: failure.message,
            ...(failure.stacktrace === undefined ? {} : { stacktrace: failure.stacktrace }),
            ...(failure.details === undefined
              ? {}
              : { details: JSON.parse(redactor.json(failure.details)) as unknown }),
          },
  };
}

function sequenceOf(cursor: string): number {
  if (!SEQUENCE.test(cursor)) throw new CallError("invalid_input", "`cursor` is not one of engine::invocations::list");
  return Number(cursor);
}

function matches(record: CallRecord, query: InvocationsQuery): boolean {
  const { resource, caller } = record;
  if (record.internal && !query.include_internal && query.function_id !== record.facts.functionId) return false;
  if (query.function_id && record.facts.functionId !== query.function_id) return false;
  if (query.status && statusOf(record) !== query.status) return false;
  if (query.source && record.source !== query.source) return false;
  if (query.worker && resource.service !== query.worker && resource.workerId !== query.worker) return false;
  if (query.caller && caller?.name !== query.caller && caller?.worker_id !== query.caller) return false;
  if (query.trace_id && record.traceId !== query.trace_id) return false;
  if (typeof query.start_time === "number" && record.startedAtMs < query.start_time) return false;
  return typeof query.end_time !== "number" || record.startedAtMs <= query.end_time;
}

function statusOf({ result }: CallRecord): InvocationListing["status"] {
  if (result === undefined) return "pending";
  return result === "refused" ? "error" : result;
}

function rowOf(record: CallRecord): InvocationListing {
  const { resource, caller, failure, job } = record;
  return {
    invocation_id: record.invocationId,
    function_id: record.facts.functionId,
    worker: resource.workerId === undefined ? null : { id: resource.workerId, name: resource.service },
    caller: caller === undefined ? null : { worker_id: caller.worker_id, name: caller.name },
    source: record.source,
    status: statusOf(record),
    started_at_ms: record.startedAtMs,
    duration_ms: record.duration < 0 ? null : record.duration,
    input_bytes: record.inputBytes,
    output_bytes: record.outputBytes,
    trace_id: record.traceId,
    span_id: record.spanId,
    ...(job === undefined ? {} : { job }),
    ...(failure === undefined ? {} : { error: { code: failure.code, message: failure.message } }),
  };
}
