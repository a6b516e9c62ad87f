import type { Attributes, SpanKind } from "@svc-runtime/engine/module";

/** Attribute of a resource: name of the node of the cluster that recorded the span or log entry. */
export const NODE_ATTRIBUTE = "svc.node";

export interface SpanEvent {
  readonly name: string;
  readonly timeUnixNano: bigint;
  readonly attributes: Attributes;
}

export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: Attributes;
}

export interface Resource {
  /** `service.name`: a worker's name, or the engine's own. */
  readonly service: string;
  /** Connection id of the worker, if it is known. */
  readonly workerId: string | undefined;
  /** All resource attributes except the name. */
  readonly attributes: Attributes;
  /** Id of the restricted principal that sent it; undefined for the engine and trusted senders. */
  readonly restrictedTo?: string | undefined;
}

/**
 * One span, the engine's own or external. It may be an object with getters that compute times and attributes when they
 * are read. Sinks keep the object itself; it changes only while it is pending.
 */
export interface SpanRecord {
  /** 32 and 16 lower-case hex digits. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startUnixNano: bigint;
  /** Undefined while the span is pending. */
  readonly endUnixNano: bigint | undefined;
  /** Set if reading it is cheap. See `durationOf`. */
  readonly durationMs?: number | undefined;
  readonly status: "ok" | "error" | "unset";
  readonly statusDescription: string | undefined;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly links: readonly SpanLink[];
  /** Entries of the trace context's baggage, decoded. */
  readonly baggage: Readonly<Record<string, string>>;
  readonly resource: Resource;
  readonly scopeName: string | undefined;
  readonly scopeVersion: string | undefined;
  /** True for the engine's own work: hidden unless a query asks for it. */
  readonly internal: boolean;
  /** False: dropped unless its trace has an error or a slow span. */
  readonly sampled: boolean;
  /** Approximate size in memory, in bytes. Cheap to read. */
  readonly size: number;
  /** True for a span that was received rather than created by the engine. */
  readonly outside?: boolean | undefined;
  /** Index in the store's list of pending spans. */
  pendingPlace?: number | undefined;
  /** Call it before keeping the span longer than others that arrived at the same time. */
  unpack?(): void;
  /**
   * Call `retain` to keep the span after the sink method returns, and `release` once when it is no longer needed. A
   * span that is not retained is reused for another call. A span that is retained and never released is left to the
   * garbage collector.
   */
  retain?(): void;
  release?(): void;
}

/** Returns milliseconds, or 0 while the span is pending. Faster than reading the times, which may be computed. */
export function durationOf(span: SpanRecord): number {
  const { durationMs } = span;
  if (durationMs !== undefined) return durationMs;
  const { endUnixNano } = span;
  return endUnixNano === undefined ? 0 : Number(endUnixNano - span.startUnixNano) / 1e6;
}

const NANOS_PER_MS = 1_000_000n;

/** Returns milliseconds with a fraction, exact to about 0.2 microseconds for present-day times. */
export function millisOf(unixNano: bigint): number {
  return Number(unixNano / NANOS_PER_MS) + Number(unixNano % NANOS_PER_MS) / 1e6;
}

export function durationMs(startUnixNano: bigint, endUnixNano: bigint): number {
  return millisOf(endUnixNano - startUnixNano);
}

/** Takes spans. Called on the hot path: must not block, throw or wait. */
export interface SpanSink {
  /** One of the engine's own spans has begun. External spans may be passed while pending too. */
  started(span: SpanRecord): void;
  /** The span has ended. It is the same object as before, or an external span, which may still be pending. */
  ended(span: SpanRecord): void;
}

/** The five severity names of the specification. */
export type SeverityText = "TRACE" | "DEBUG" | "INFO" | "WARN" | "ERROR";

export interface LogRecord {
  readonly timeUnixNano: bigint;
  readonly observedUnixNano: bigint;
  /** 1 to 24. */
  readonly severityNumber: number;
  readonly severityText: SeverityText;
  readonly body: string;
  readonly attributes: Attributes;
  readonly traceId: string | undefined;
  readonly spanId: string | undefined;
  readonly resource: Resource;
  readonly scopeName: string | undefined;
  readonly scopeVersion: string | undefined;
}

export interface LogSink {
  /** Must not block, throw or wait. */
  add(log: LogRecord): void;
}

/** One data point of a metric series, as in OTLP. */
export interface MetricPoint {
  readonly attributes: Attributes;
  readonly timeUnixNano: bigint;
  readonly startUnixNano: bigint | undefined;
  readonly value:
    | { readonly type: "number"; readonly value: number }
    | {
        readonly type: "histogram";
        readonly count: number;
        readonly sum: number;
        readonly min: number | undefined;
        readonly max: number | undefined;
        /** One more item than `bounds`. */
        readonly bucketCounts: readonly number[];
        readonly bounds: readonly number[];
      };
}

export interface MetricRecord {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
  readonly type: "gauge" | "counter" | "up_down_counter" | "histogram";
  readonly temporality: "cumulative" | "delta" | undefined;
  readonly points: readonly MetricPoint[];
  readonly resource: Resource;
  readonly scopeName: string | undefined;
}

export interface MetricSink {
  /** Must not block, throw or wait. */
  add(metric: MetricRecord): void;
}

/** Name of each signal in drop counts. */
export const DROP_SIGNALS = { traces: "spans", logs: "logs", metrics: "metrics" } as const;

/** Counts what bounded buffers drop. Shown in metrics and on the console's Config page. */
export interface DropCounter {
  /** `signal`: e.g. `spans`. `reason`: e.g. `export_queue_full`; a small fixed set. */
  dropped(signal: "spans" | "logs" | "metrics", reason: string, count: number): void;
}
