import type { SqlValue } from "@svc-runtime/engine/store";
import { PENDING_DURATION_US } from "../span-store.ts";
import { durationUsOf, statusOf, type TraceFacts } from "../trace-facts.ts";

export const COLUMNS =
  "trace_id, root_span_id, partial, root_start_us, root_name, root_lower, service, services, functions, internal, trigger_type, function_id, " +
  "function_start_us, status, start_us, end_us, duration_us, span_count, error_count, pending_count, next_seq, updated_ms, kept, " +
  "root_end_us, root_status, error_ends";

export type TraceSqlRow = {
  readonly no: number;
  readonly trace_id: string;
  readonly root_span_id: string;
  readonly partial: number;
  readonly root_start_us: number;
  readonly root_name: string;
  readonly service: string;
  readonly services: string;
  readonly functions: string;
  readonly internal: number;
  readonly trigger_type: string | null;
  readonly function_id: string | null;
  readonly function_start_us: number;
  readonly start_us: number;
  readonly end_us: number;
  readonly span_count: number;
  readonly error_count: number;
  readonly pending_count: number;
  readonly next_seq: number;
  readonly kept: number;
  readonly root_end_us: number | null;
  readonly root_status: TraceFacts["rootStatus"];
  readonly error_ends: string;
};

export function factsOf(row: TraceSqlRow): TraceFacts {
  return {
    traceId: row.trace_id,
    rootSpanId: row.root_span_id,
    partial: row.partial === 1,
    rootStartUs: row.root_start_us,
    rootEndUs: row.root_end_us ?? undefined,
    rootStatus: row.root_status,
    rootName: row.root_name,
    service: row.service,
    services: JSON.parse(row.services) as string[],
    functions: JSON.parse(row.functions) as string[],
    internal: row.internal === 1,
    triggerType: row.trigger_type ?? undefined,
    functionId: row.function_id ?? undefined,
    functionStartUs: row.function_start_us,
    startUs: row.start_us,
    endUs: row.end_us,
    spanCount: row.span_count,
    errorCount: row.error_count,
    errorEndsUs: JSON.parse(row.error_ends) as number[],
    pendingCount: row.pending_count,
  };
}

export function parametersOf(
  facts: TraceFacts,
  more: { readonly nextSeq: number; readonly nowMs: number; readonly isKept: boolean },
): SqlValue[] {
  return [
    facts.traceId,
    facts.rootSpanId,
    facts.partial ? 1 : 0,
    facts.rootStartUs,
    facts.rootName,
    facts.rootName.toLowerCase(),
    facts.service,
    JSON.stringify(facts.services),
    JSON.stringify(facts.functions),
    facts.internal ? 1 : 0,
    facts.triggerType ?? null,
    facts.functionId ?? null,
    facts.functionStartUs,
    statusOf(facts),
    facts.startUs,
    facts.endUs,
    durationUsOf(facts) ?? PENDING_DURATION_US,
    facts.spanCount,
    facts.errorCount,
    facts.pendingCount,
    more.nextSeq,
    more.nowMs,
    more.isKept ? 1 : 0,
    facts.rootEndUs ?? null,
    facts.rootStatus,
    JSON.stringify(facts.errorEndsUs),
  ];
}
