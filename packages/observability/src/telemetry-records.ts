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
  /** Value of `service.name`: the worker's name, or that of the engine. */
  readonly service: string;
  /** Connection id of the worker, if it is known. */
  readonly workerId: string | undefined;
  /** All resource attributes except the service name. */
  readonly attributes: Attributes;
  /** Id of the restricted principal that sent the records. Undefined for the engine and for trusted senders. */
  readonly restrictedTo?: string | undefined;
}

/**
 * One span, created by the engine or received from outside. It may be an object with getters, which compute times and
 * attributes when they are read. Sinks store the object itself. It changes only while it is pending.
 */
export interface SpanRecord {
  /** Trace id of 32 lower-case hex digits; span ids have 16. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startUnixNano: bigint;
  /** Undefined while the span is pending. */
  readonly endUnixNano: bigint | undefined;
  /** Duration in milliseconds. Set only if reading it is cheap; see `durationOf`. */
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
  /** True for the engine's own work. It is hidden unless a query asks for it. */
  readonly internal: boolean;
  /** False if the span is dropped unless its trace has an error or a slow span. */
  readonly sampled: boolean;
  /** Approximate size in memory, in bytes. Cheap to read. */
  readonly size: number;
  /** True for a span that was received rather than created by the engine. */
  readonly outside?: boolean | undefined;
  /** Index in the store's list of pending spans. */
  pendingPlace?: number | undefined;
  /** Must be called before the span is stored for longer than other spans that arrived at the same time. */
  unpack?(): void;
  /**
   * A sink calls `retain` to use the span after its method has returned, and `release` once when it no longer needs the
   * span. A span that is not retained is reused for another call. A span that is retained but never released is freed
   * by the garbage collector.
   */
  retain?(): void;
  release?(): void;
}

/**
 * Returns the duration in milliseconds, or 0 while the span is pending. It is faster than reading the times, which may
 * be computed at each read.
 */
export function durationOf(span: SpanRecord): number {
  const { durationMs } = span;
  if (durationMs !== undefined) return durationMs;
  const { endUnixNano } = span;
  return endUnixNano === undefined ? 0 : Number(endUnixNano - span.startUnixNano) / 1e6;
}

const NANOS_PER_MS = 1_000_000n;

/** Converts to milliseconds with a fraction, which is exact to about 0.2 microseconds for present times. */
export function millisOf(unixNano: bigint): number {
  return Number(unixNano / NANOS_PER_MS) + Number(unixNano % NANOS_PER_MS) / 1e6;
}

export function durationMs(startUnixNano: bigint, endUnixNano: bigint): number {
  return millisOf(endUnixNano - startUnixNano);
}

/** Takes spans. It is called on the hot path, so it must not block or throw. */
export interface SpanSink {
  /** Called when one of the engine's own spans has begun. External spans may also be passed while they are pending. */
  started(span: SpanRecord): void;
  /**
   * Called when a span has ended. It is the same object as in `started`, or an external span, which may still be
   * pending.
   */
  ended(span: SpanRecord): void;
}

/** The five severity names of the specification. */
export type SeverityText = "TRACE" | "DEBUG" | "INFO" | "WARN" | "ERROR";

export interface LogRecord {
  readonly timeUnixNano: bigint;
  readonly observedUnixNano: bigint;
  /** Severity number, 1 to 24. */
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
  /** Takes a log entry. It must not block or throw. */
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
        /** Counts by bucket. There is one more than `bounds`. */
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
  /** Takes a metric. It must not block or throw. */
  add(metric: MetricRecord): void;
}

/** Name of each signal in drop counts. */
export const DROP_SIGNALS = { traces: "spans", logs: "logs", metrics: "metrics" } as const;

/** Counts the records that bounded buffers drop. The counts are shown in metrics and on the console's Config page. */
export interface DropCounter {
  /**
   * Counts dropped records. `signal` is for example `spans`. `reason` is for example `export_queue_full`; there are few
   * reasons.
   */
  dropped(signal: "spans" | "logs" | "metrics", reason: string, count: number): void;
}
