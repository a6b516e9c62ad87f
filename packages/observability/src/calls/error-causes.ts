import type { SeesCall } from "../query/sees-call.ts";
import type { CallRecord } from "./call-record.ts";
import type { InvocationHistory } from "./invocation-history.ts";
import type { ErrorsQuery } from "./invocation-input.ts";

const DEFAULT_LIMIT = 50;
/** Maximum number of different causes while grouping. */
const MAX_CAUSES = 1_000;
/** Times of calls are in microseconds; those of a caller and its callee differ by the engine's own work. */
const SLACK_MS = 1;

/** What is read of a call. */
export type CauseCall = Pick<
  CallRecord,
  | "invocationId"
  | "traceId"
  | "spanId"
  | "facts"
  | "caller"
  | "resource"
  | "result"
  | "failure"
  | "internal"
  | "startedAtMs"
  | "duration"
>;

/** Failed calls of one function with the same code and, apart from numbers and ids, the same message. */
interface Cause {
  readonly key: string;
  readonly last: CauseCall;
  readonly calls: CauseCall[];
}

/**
 * Groups failed calls by cause, the latest first. A call that failed because a function that it called failed belongs
 * to that function's cause and is not counted itself.
 */
export function errorCauses(
  history: Iterable<CauseCall> & Pick<InvocationHistory, "hasEvictedFailures">,
  { start_time, end_time, limit, buckets }: ErrorsQuery,
  sees: SeesCall,
  nowMs: number,
) {
  const [from, to] = [start_time ?? Number.NEGATIVE_INFINITY, end_time ?? nowMs];
  const stored = [...history].filter(hasFailed);
  const failed = stored.filter(
    (record) =>
      !record.internal &&
      record.startedAtMs >= from &&
      record.startedAtMs <= to &&
      sees(record.facts.functionId, record.caller?.worker_id),
  );
  // The oldest failed calls are evicted first, so an older one proves that those of the range are all stored.
  const isWhole = !history.hasEvictedFailures || stored.some(({ startedAtMs }) => startedAtMs < from);
  const byKey = new Map<string, Cause>();
  for (const record of withoutCallers(failed)) {
    const key = keyOf(record);
    const cause = byKey.get(key);
    if (cause !== undefined) cause.calls.push(record);
    else if (byKey.size < MAX_CAUSES) byKey.set(key, { key, last: record, calls: [record] });
  }
  const causes = [...byKey.values()];
  return {
    errors: causes.slice(0, limit ?? DEFAULT_LIMIT).map(({ last, calls }) => ({
      function_id: last.facts.functionId,
      code: last.failure?.code ?? "",
      message: last.failure?.message ?? "",
      count: calls.length,
      first_at_ms: calls.at(-1)?.startedAtMs ?? last.startedAtMs,
      last_at_ms: last.startedAtMs,
      last: { invocation_id: last.invocationId, trace_id: last.traceId, span_id: last.spanId },
      ...(buckets == null || start_time == null ? {} : { counts: overTime(calls, start_time, to, buckets) }),
    })),
    total: causes.length,
    ...(isWhole ? {} : { counts_are_lower_bounds: true as const }),
  };
}

function hasFailed({ result }: CauseCall): boolean {
  return result === "error" || result === "timeout" || result === "refused";
}

/** Leaves out calls during which a call of the same worker failed, within the same trace. Newest first. */
function withoutCallers(failed: readonly CauseCall[]): readonly CauseCall[] {
  const byCaller = new Map<string, CauseCall[]>();
  for (const record of failed) {
    const caller = record.caller?.worker_id;
    if (caller === undefined) continue;
    const key = callerKey(record.traceId, caller);
    const others = byCaller.get(key);
    if (others === undefined) byCaller.set(key, [record]);
    else others.push(record);
  }
  const calls = new Map([...byCaller].map(([key, records]) => [key, new CallsByStart(records)]));
  return failed
    .filter((record) => {
      const { workerId } = record.resource;
      if (workerId === undefined) return true;
      const first = calls.get(callerKey(record.traceId, workerId))?.firstToEnd(record);
      return first === undefined || endOf(first) > endOf(record) + SLACK_MS;
    })
    .sort((a, b) => b.startedAtMs - a.startedAtMs);
}

function callerKey(traceId: string, workerId: string): string {
  return `${traceId} ${workerId}`;
}

function endOf({ startedAtMs, duration }: CauseCall): number {
  return startedAtMs + duration;
}

/** Calls by one worker in one trace. A search takes logarithmic time, because one trace can have all stored calls. */
class CallsByStart {
  readonly #byStart: readonly CauseCall[];
  /** For each position, the call from there on that ends first, and the one that ends next. */
  readonly #ending: (readonly [CauseCall, CauseCall | undefined])[] = [];

  constructor(records: readonly CauseCall[]) {
    this.#byStart = records.toSorted((a, b) => a.startedAtMs - b.startedAtMs);
    for (const [back, record] of this.#byStart.toReversed().entries()) {
      const [first, second] = this.#ending[this.#byStart.length - back] ?? [];
      this.#ending[this.#byStart.length - 1 - back] =
        first === undefined || endOf(record) < endOf(first)
          ? [record, first]
          : [first, second === undefined || endOf(record) < endOf(second) ? record : second];
    }
  }

  /** Returns the call that ends first of those, other than `record`, that start during or after it. */
  firstToEnd(record: CauseCall): CauseCall | undefined {
    let [low, high] = [0, this.#byStart.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#byStart[middle]?.startedAtMs ?? 0) < record.startedAtMs) low = middle + 1;
      else high = middle;
    }
    const [first, second] = this.#ending[low] ?? [];
    return first === record ? second : first;
  }
}

/** Numbers and long hexadecimal ids differ between calls that fail for the same reason. */
function keyOf({ facts, failure }: CauseCall): string {
  const message = failure?.message.replace(/[0-9a-f]{8,}(?:-[0-9a-f]{4,})*|\d+/gi, "#") ?? "";
  return JSON.stringify([facts.functionId, failure?.code, message]);
}

function overTime(calls: readonly CauseCall[], from: number, to: number, buckets: number): readonly number[] {
  const counts = Array.from({ length: buckets }, () => 0);
  const width = Math.max(1, to - from) / buckets;
  for (const { startedAtMs } of calls) {
    const at = Math.min(buckets - 1, Math.max(0, Math.floor((startedAtMs - from) / width)));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return counts;
}
