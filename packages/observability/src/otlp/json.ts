/**
 * OTLP as JSON, as specified for its protobuf messages
 * (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). Ids are hex, 64-bit integers are decimal strings.
 * The types describe what the engine sends. Received JSON is not trusted, so each member is checked.
 */
export type AnyValue =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly intValue: string }
  /** NaN and the infinities are sent as strings. */
  | { readonly doubleValue: number | "NaN" | "Infinity" | "-Infinity" }
  | { readonly arrayValue: { readonly values: readonly AnyValue[] } }
  | { readonly kvlistValue: { readonly values: readonly KeyValue[] } }
  | Readonly<Record<string, never>>;

export interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}

interface Scope {
  readonly name?: string;
  readonly version?: string;
}

interface ResourceJson {
  readonly attributes: readonly KeyValue[];
}

export interface SpanJson {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** Span kind: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number;
  readonly startTimeUnixNano: string;
  /** `0` while the span is pending. */
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly events: readonly {
    readonly timeUnixNano: string;
    readonly name: string;
    readonly attributes: readonly KeyValue[];
  }[];
  readonly links: readonly {
    readonly traceId: string;
    readonly spanId: string;
    readonly attributes: readonly KeyValue[];
  }[];
  /** Status code: 0 unset, 1 ok, 2 error. */
  readonly status: { readonly code: number; readonly message?: string };
}

/** Body of an `ExportTraceServiceRequest`. */
export interface TracesJson {
  readonly resourceSpans: readonly {
    readonly resource: ResourceJson;
    readonly scopeSpans: readonly { readonly scope: Scope; readonly spans: readonly SpanJson[] }[];
  }[];
}

export interface LogJson {
  readonly timeUnixNano: string;
  readonly observedTimeUnixNano: string;
  readonly severityNumber: number;
  readonly severityText: string;
  readonly body: AnyValue;
  readonly attributes: readonly KeyValue[];
  readonly traceId?: string;
  readonly spanId?: string;
}

/** Body of an `ExportLogsServiceRequest`. */
export interface LogsJson {
  readonly resourceLogs: readonly {
    readonly resource: ResourceJson;
    readonly scopeLogs: readonly { readonly scope: Scope; readonly logRecords: readonly LogJson[] }[];
  }[];
}

interface PointJson {
  readonly attributes: readonly KeyValue[];
  readonly startTimeUnixNano?: string;
  readonly timeUnixNano: string;
}

export interface NumberPointJson extends PointJson {
  readonly asDouble: number | "NaN" | "Infinity" | "-Infinity";
}

export interface HistogramPointJson extends PointJson {
  readonly count: string;
  readonly sum: number;
  readonly min?: number;
  readonly max?: number;
  readonly bucketCounts: readonly string[];
  readonly explicitBounds: readonly number[];
}

export interface MetricJson {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
  readonly gauge?: { readonly dataPoints: readonly NumberPointJson[] };
  /** A counter. Aggregation temporality: 1 delta, 2 cumulative. */
  readonly sum?: {
    readonly dataPoints: readonly NumberPointJson[];
    readonly aggregationTemporality: number;
    readonly isMonotonic: boolean;
  };
  readonly histogram?: { readonly dataPoints: readonly HistogramPointJson[]; readonly aggregationTemporality: number };
}

/** Body of an `ExportMetricsServiceRequest`. */
export interface MetricsJson {
  readonly resourceMetrics: readonly {
    readonly resource: ResourceJson;
    readonly scopeMetrics: readonly { readonly scope: Scope; readonly metrics: readonly MetricJson[] }[];
  }[];
}
