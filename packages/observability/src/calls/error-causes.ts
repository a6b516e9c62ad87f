import type { SeesCall } from "../query/sees-call.ts";
import type { CallRecord } from "./call-record.ts";
import type { InvocationHistory } from "./invocation-history.ts";
import type { ErrorsQuery } from "./invocation-input.ts";

const DEFAULT_LIMIT = 50;
/** Maximum number of different causes while grouping. */
const MAX_CAUSES = 1_000;
/** Tolerance when times of a caller and its callee are compared. Their times differ by the engine's own work. */
const SLACK_MS = 1;

/** Members of a call that the grouping reads. */
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
 * Groups failed calls by cause, the latest first. If a call failed because a function that it called failed, only the
 * call of that function is counted.
 */
export function errorCauses(
  history: Iterable<CauseCall> & Pick<InvocationHistory, "hasEvictedFailures">,
  { start_time, end_time, limit, buckets }: ErrorsQuery,
  sees: SeesCall,
  nowMs: number,
) {
  // No upper limit without `end_time`: `nowMs` is in whole milliseconds, so calls of the current millisecond would be
  // left out.
  const [from, to] = [start_time ?? Number.NEGATIVE_INFINITY, end_time ?? Number.POSITIVE_INFINITY];
  const stored = [...history].filter(hasFailed);
  const failed = stored.filter(
    (record) =>
      !record.internal &&
      record.startedAtMs >= from &&
      record.startedAtMs <= to &&
      sees(record.facts.functionId, record.caller?.worker_id),
  );
  // The oldest failed calls are evicted first. So if a failed call from before the range is stored, all failed calls of
  // the range are stored too.
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
      ...(buckets == null || start_time == null
        ? {}
        : { counts: overTime(calls, start_time, end_time ?? nowMs, buckets) }),
    })),
    total: causes.length,
    ...(isWhole ? {} : { counts_are_lower_bounds: true as const }),
  };
}

function hasFailed({ result }: CauseCall): boolean {
  return result === "error" || result === "timeout" || result === "refused";
}

/**
 * Leaves out each call during which another call by the same worker failed in the same trace. Returns the newest first.
 */
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

/** Calls by one worker in one trace. A search takes logarithmic time, because one trace may have all stored calls. */
class CallsByStart {
  readonly #byStart: readonly CauseCall[];
  /** For each position: of the calls from this position on, the call that ends first and the call that ends second. */
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

  /** Of the calls that start during or after `record`, returns the one that ends first. Ignores `record` itself. */
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

/**
 * Returns the key of the cause. Numbers and long hexadecimal ids are replaced, because they differ between calls that
 * fail for the same reason.
 */
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
