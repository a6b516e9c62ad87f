import type { CallError, Caller, FunctionId, Job, Payload } from "@svc-runtime/protocol";
import type { Principal } from "../access/principal.ts";
import type { Undo } from "./scope.ts";

/** Value of an attribute, as in OpenTelemetry. Integers above 2^53 are decimal strings. */
export type AttributeValue =
  | string
  | number
  | boolean
  | null
  | readonly AttributeValue[]
  | { readonly [name: string]: AttributeValue };
export type Attributes = Readonly<Record<string, AttributeValue>>;

export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

/**
 * Work that a module starts by itself or for an outside client: a request, a cron run, a job, a delivery. Calls have
 * spans of their own.
 */
export interface SpanStart {
  /** Low cardinality, e.g. `POST /orders/:id`, `cron nightly::report`, `queue orders`. */
  readonly name: string;
  readonly kind: SpanKind;
  /** W3C `traceparent` of the cause. Without one a new trace begins. */
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
  /** Undefined values are omitted. A function is called only if the span is recorded. */
  readonly attributes?: SpanAttributes | (() => SpanAttributes) | undefined;
  /** `traceparent`s of further causes, e.g. of the caller that enqueued the job. */
  readonly links?: readonly string[] | undefined;
}

export type SpanAttributes = Readonly<Record<string, AttributeValue | undefined>>;

export interface ActiveSpan {
  /** The trace context to pass to called functions. Without a collector, it is the `traceparent` of `SpanStart`. */
  readonly traceparent: string | undefined;
  setAttribute(name: string, value: AttributeValue): void;
  /** Ends the span. Further calls have no effect. `error` sets the status to Error. */
  end(outcome?: { readonly error?: CallError | string | undefined }): void;
}

/** A log entry from any source. */
export interface LogEntry {
  /** Milliseconds since 1970, with a fraction. Default: now. */
  readonly timeMs?: number | undefined;
  /** OpenTelemetry severity number, 1 to 24: 1 TRACE, 5 DEBUG, 9 INFO, 13 WARN, 17 ERROR, 21 FATAL. */
  readonly severity: number;
  readonly body: string;
  readonly attributes?: Attributes | undefined;
  /** 32 and 16 hex digits. */
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
  /** The worker's name. Default: the engine's own service name. */
  readonly service?: string | undefined;
  readonly resource?: Attributes | undefined;
  readonly scopeName?: string | undefined;
}

/**
 * A call as the collector sees it. Valid until the call has ended, except for `payload`, which is cleared when it is
 * sent.
 */
export interface ObservedCall {
  readonly id: string;
  readonly functionId: FunctionId;
  readonly payload: Payload;
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  readonly caller: Caller | undefined;
  readonly job: Job | undefined;
}

/** The provider that runs a call. */
export interface ObservedProvider {
  readonly workerId: string;
  readonly name: string;
  readonly builtIn: boolean;
  /** Returns `FunctionSpec.polled` of a module's function. */
  isPolled?(functionId: string): boolean;
}

export type ObservedOutcome =
  | { readonly ok: true; readonly result: Payload | undefined }
  | { readonly ok: false; readonly error: CallError };

/** A traced call. */
export interface CallSpan {
  /**
   * Trace context for the callee and for the caller's result. If the call is counted but not recorded, it is the
   * unchanged trace context of the call.
   */
  readonly traceparent: string | undefined;
  /** Called exactly once. */
  ended(outcome: ObservedOutcome): void;
}

/** `traces`, `metrics`, `logs`: the signals of OpenTelemetry. */
export type Signal = "traces" | "metrics" | "logs";

/** The origin of telemetry from outside. */
export interface IngestSource {
  /** The connection's worker; undefined for `/otel` sockets. */
  readonly worker: { readonly id: string; readonly name: string } | undefined;
  /** `ip:port`. */
  readonly address: string | undefined;
  /** The principal of the connection. */
  readonly principal: Principal;
}

/**
 * Receives telemetry from the kernel and the modules. Called on the hot path: methods must not block, throw or wait.
 */
export interface TelemetryCollector {
  /**
   * Called before a call is delivered to `provider`. Returns undefined if the call is not traced. `startedAt`: now, in
   * milliseconds on the monotonic clock.
   */
  callStarted(call: ObservedCall, provider: ObservedProvider, startedAt: number): CallSpan | undefined;
  /** Called for a call that was refused before a provider received it. */
  callRefused(call: ObservedCall, error: CallError): void;
  /**
   * Called for a call that was rejected before routing: not permitted, over the connection's limit, or malformed. Only
   * counted, since a client can cause it at any rate.
   */
  callDenied(error: CallError, caller: Caller): void;
  /** `module`: the name of the module that starts the span, e.g. `svc-http`. */
  startSpan(span: SpanStart, module: string): ActiveSpan;
  log(entry: LogEntry): void;
  /** Receives the OTLP/JSON of a worker unparsed. */
  ingest(signal: Signal, body: Uint8Array, source: IngestSource): void;
}

/** A current value of a module's metric. */
export interface Measurement {
  /** In OpenTelemetry style, e.g. `svc.queue.waiting`. */
  readonly name: string;
  /** `counter`: a total since the engine started that only grows. */
  readonly type: "gauge" | "counter";
  /** UCUM unit, e.g. `By`, `ms`. Default `1`. */
  readonly unit?: string | undefined;
  /** One sentence, for listings. */
  readonly description?: string | undefined;
  /** Low cardinality. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly value: number;
}

/**
 * Called every 5 s. Must be cheap and return within 4 s. If it fails or is late, its values are missing until the next
 * time.
 */
export type Measure = () => Iterable<Measurement> | Promise<Iterable<Measurement>>;

/** Process metrics of a worker; unknown members are absent. Names and units are those of published clients. */
export interface WorkerMetrics {
  /** Bytes. */
  readonly memory_heap_used?: number;
  readonly memory_heap_total?: number;
  readonly memory_rss?: number;
  readonly memory_external?: number;
  readonly cpu_user_micros?: number;
  readonly cpu_system_micros?: number;
  /** Percent of one core, so it can exceed 100. */
  readonly cpu_percent?: number;
  readonly event_loop_lag_ms?: number;
  readonly uptime_seconds?: number;
  /** Time of the report, in milliseconds since 1970. */
  readonly timestamp_ms: number;
  readonly runtime: string;
}

/** The part of `ModuleContext` about telemetry. */
export interface Telemetry {
  /** Starts a span. Without a collector it only passes on the trace context. */
  startSpan(span: SpanStart): ActiveSpan;
  log(entry: LogEntry): void;
  /** Registers a function that returns the module's metrics. */
  provideMeasurements(measure: Measure): Undo;
  /** The functions that all modules passed to `provideMeasurements`. */
  readonly measures: Iterable<Measure>;
  /** Makes this module the provider of worker metrics. There can be only one. */
  provideWorkerMetrics(read: (workerId: string) => WorkerMetrics | undefined): Undo;
  /** Returns the process metrics of a connected worker; undefined if there is no recent report. */
  workerMetrics(workerId: string): WorkerMetrics | undefined;
  /** Makes this module the collector. There can be only one; without one telemetry is dropped. */
  collect(collector: TelemetryCollector): Undo;
}
