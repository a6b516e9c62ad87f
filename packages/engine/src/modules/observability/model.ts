import type { Attributes, SpanKind } from "../../kernel/telemetry-contract.ts";

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

/** Who produced a span, a log entry or a metric. */
export interface Resource {
  /** `service.name`: a worker's name, or the engine's own. */
  readonly service: string;
  /** Connection of the worker, where it is known. */
  readonly workerId: string | undefined;
  /** All resource attributes besides the name. */
  readonly attributes: Attributes;
  /** Id of the restricted principal that sent it; undefined for the engine and trusted senders. */
  readonly restrictedTo?: string | undefined;
}

/**
 * One span, the engine's own or from outside. An object with getters as well: the recorder of calls works out times and attributes only when somebody
 * reads them. Whoever keeps one keeps it as it is; it changes only while it is pending.
 */
export interface SpanRecord {
  /** 32 and 16 lower-case hex digits. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startUnixNano: bigint;
  /** Undefined while it is pending. */
  readonly endUnixNano: bigint | undefined;
  /** Where it is at hand: reading it costs nothing. See `durationOf`. */
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
  /** Of the engine's own working: hidden unless asked for. */
  readonly internal: boolean;
  /** False: to be dropped unless its trace turns out to be worth keeping (an error, slow). */
  readonly sampled: boolean;
  /** About how many bytes it takes in memory. Cheap to read. */
  readonly size: number;
  /** Somebody else told it than the engine. */
  readonly outside?: boolean | undefined;
  /** For whoever keeps what runs. */
  pendingPlace?: number | undefined;
  /** To be called when it will be kept longer than those that came with it. */
  unpack?(): void;
  /**
   * Whoever keeps it after the call that told of it retains it, and may release it, once, when it keeps it no longer. What nobody keeps is used again for
   * another call; what is retained and never released is not.
   */
  retain?(): void;
  release?(): void;
}

/** Milliseconds; 0 while it is pending. For the hot path: the times themselves are worked out at each reading. */
export function durationOf(span: SpanRecord): number {
  const { durationMs } = span;
  if (durationMs !== undefined) return durationMs;
  const { endUnixNano } = span;
  return endUnixNano === undefined ? 0 : Number(endUnixNano - span.startUnixNano) / 1e6;
}

/** Takes spans. Called on the hot path: never blocks, throws or waits. */
export interface SpanSink {
  /** A span of the engine's own has begun. Those from outside may be told as pending too. */
  started(span: SpanRecord): void;
  /** It has ended: the same object as was told before, or one from outside as it came, which may be pending still. */
  ended(span: SpanRecord): void;
}

/** The specification's five names. */
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
  /** Never blocks, throws or waits. */
  add(log: LogRecord): void;
}

/** One series' point of a metric, as OTLP has it. */
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
        /** One more than `bounds`. */
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
  /** Never blocks, throws or waits. */
  add(metric: MetricRecord): void;
}

/** Bounded buffers count what they had to drop, by what and why; shown in metrics and on the Config page. */
export interface DropCounter {
  /** `signal` e.g. `spans`, `reason` e.g. `export_queue_full`. Few different ones. */
  dropped(signal: "spans" | "logs" | "metrics", reason: string, count: number): void;
}
