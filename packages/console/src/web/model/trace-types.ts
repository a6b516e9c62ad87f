// Types of the results of engine::traces::*. Attributes are strings, so that numbers are not rounded.

export type TraceStatus = "ok" | "error" | "pending";

/** Work of a trace that continues after its root span has ended. */
export interface AsyncWork {
  /** Time from the root span's start to the last end. Null while a span is running. */
  readonly until_ms: number | null;
  /** Number of failed spans that ended after the root span. */
  readonly errors: number;
}

export interface TraceSummary {
  readonly trace_id: string;
  readonly root_span_id: string;
  readonly root_name: string;
  readonly service: string;
  readonly services: readonly string[];
  /** Status of the root span. */
  readonly status: TraceStatus;
  readonly start_time_ms: number;
  /** Duration of the root span. Null while it is running. */
  readonly duration_ms: number | null;
  readonly span_count: number;
  /** Number of failed spans, independent of the status. */
  readonly error_count: number;
  /** Absent if no work continued after the root span. */
  readonly async_work?: AsyncWork;
  readonly partial: boolean;
  readonly trigger_type?: string;
  readonly function_id?: string;
  /** Engines of the cluster that have spans of the trace. */
  readonly nodes?: readonly string[];
}

/** The engines of a cluster whose results were merged. Absent without a cluster. */
export interface MergedFrom {
  readonly nodes?: readonly string[];
  /** Engines that did not answer. */
  readonly missing?: readonly string[];
}

/** Returns true if several engines were asked. Engines that did not answer are counted too. */
export function isOfSeveral({ nodes = [], missing = [] }: MergedFrom): boolean {
  return nodes.length + missing.length > 1;
}

export type Attribute = readonly [key: string, text: string];

export interface SpanEvent {
  readonly name: string;
  readonly timestamp_unix_nano_text: string;
  readonly timestamp_ms: number;
  readonly attributes: readonly Attribute[];
}

export interface SpanLink {
  readonly trace_id: string;
  readonly span_id: string;
  readonly attributes: readonly Attribute[];
}

/** A span with only the members that are needed to draw it. */
export interface LeanSpan {
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly name: string;
  readonly kind: string;
  readonly start_time_unix_nano_text: string;
  readonly end_time_unix_nano_text: string | null;
  readonly status: "ok" | "error" | "unset";
  readonly status_description?: string;
  readonly service_name: string;
  /** Engine of the cluster that recorded the span. */
  readonly node?: string;
  readonly events: readonly Pick<SpanEvent, "name" | "timestamp_unix_nano_text">[];
}

/** A span with all its fields. */
export interface StoredSpan extends LeanSpan {
  readonly trace_id: string;
  readonly start_time_ms: number;
  readonly duration_ms: number | null;
  readonly pending?: true;
  readonly internal: boolean;
  readonly worker_id: string | null;
  readonly attributes: readonly Attribute[];
  /** The attributes as values of their types. Large numbers are rounded. */
  readonly attributes_map?: Readonly<Record<string, unknown>>;
  readonly events: readonly SpanEvent[];
  readonly links: readonly SpanLink[];
  readonly baggage: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly instrumentation_scope_name?: string;
  readonly instrumentation_scope_version?: string;
}

export interface TraceListAnswer extends MergedFrom {
  readonly spans: readonly (StoredSpan & { readonly trace: TraceSummary })[];
  readonly total: number;
  readonly total_is_lower_bound?: true;
  readonly cursor: string | null;
  /** True if the search timed out before the page was full. It can be continued with `cursor`. */
  readonly partial?: true;
  readonly as_of: number;
}

export interface FacetValue {
  readonly value: string;
  readonly count: number;
}

export interface FacetsAnswer extends MergedFrom {
  readonly facets: Readonly<Record<string, readonly FacetValue[]>>;
  readonly total: number;
}

export interface HistogramAnswer {
  readonly time: readonly {
    readonly start_ms: number;
    readonly end_ms: number;
    readonly count: number;
    readonly errors: number;
  }[];
  readonly duration: readonly { readonly min_ms: number; readonly max_ms: number; readonly count: number }[];
}

export interface ComparedSide {
  readonly span_id: string;
  readonly duration_ms: number | null;
  readonly status: TraceStatus;
  /** Code of the error or of the HTTP response. */
  readonly code: string | null;
}

export interface ComparedRow {
  readonly path: readonly string[];
  readonly a: ComparedSide | null;
  readonly b: ComparedSide | null;
  readonly delta_ms: number | null;
  readonly change: "added" | "removed" | "outcome" | "slower" | "faster" | "same";
}

export interface CompareAnswer {
  readonly rows: readonly ComparedRow[];
  readonly a: TraceSummary;
  readonly b: TraceSummary;
  readonly truncated?: true;
}

/** Returns the status of a span. A running span is pending. An ended span whose status is unset is ok. */
export function statusOfSpan(span: Pick<LeanSpan, "status" | "end_time_unix_nano_text">): TraceStatus {
  if (span.status === "error") return "error";
  return span.end_time_unix_nano_text === null ? "pending" : "ok";
}

export function attributeOf(attributes: readonly Attribute[], ...keys: readonly string[]): string | undefined {
  return attributes.find(([key]) => keys.includes(key))?.[1];
}
