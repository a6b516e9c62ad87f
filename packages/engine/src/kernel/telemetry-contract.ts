import type { CallError, Caller, FunctionId, Job, Payload } from "@svc/protocol";
import type { Principal } from "./access/principal.ts";
import type { Awaitable } from "./module.ts";
import type { Undo } from "./scope.ts";

/** Value of an attribute, as OpenTelemetry has them. Integers beyond 2^53 are decimal strings. */
export type AttributeValue = string | number | boolean | null | readonly AttributeValue[] | { readonly [name: string]: AttributeValue };
export type Attributes = Readonly<Record<string, AttributeValue>>;

export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

/** Work that a module begins by itself or for somebody outside: a request, a tick, a job, a delivery. Calls get their spans by themselves. */
export interface SpanStart {
  /** Few different ones, e.g. `POST /orders/:id`, `cron nightly::report`, `queue orders`. */
  readonly name: string;
  readonly kind: SpanKind;
  /** W3C `traceparent` of what caused it; without one a new trace begins. */
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
  /** Undefined values are left out. */
  readonly attributes?: Readonly<Record<string, AttributeValue | undefined>> | undefined;
  /** Further causes, as `traceparent`s, e.g. who enqueued the job. */
  readonly links?: readonly string[] | undefined;
}

export interface ActiveSpan {
  /** To be passed on to what it causes. What came in, when nobody collects. */
  readonly traceparent: string | undefined;
  setAttribute(name: string, value: AttributeValue): void;
  /** Once; later ones do nothing. `error` makes its status Error. */
  end(outcome?: { readonly error?: CallError | string | undefined }): void;
}

/** One line of a log, from wherever. */
export interface LogEntry {
  /** Milliseconds since 1970, with a fraction; default now. */
  readonly timeMs?: number | undefined;
  /** OpenTelemetry severity number, 1 to 24: 1 TRACE, 5 DEBUG, 9 INFO, 13 WARN, 17 ERROR, 21 FATAL. */
  readonly severity: number;
  readonly body: string;
  readonly attributes?: Attributes | undefined;
  /** 32 and 16 hex digits. */
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
  /** Who says it: the worker's name; default the engine's own service name. */
  readonly service?: string | undefined;
  readonly resource?: Attributes | undefined;
  readonly scopeName?: string | undefined;
}

/** A call as whoever observes it sees it; the router's own. Valid until it has ended, except for `payload`, which is emptied once it is sent. */
export interface ObservedCall {
  readonly id: string;
  readonly functionId: FunctionId;
  readonly payload: Payload;
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  readonly caller: Caller | undefined;
  readonly job: Job | undefined;
}

/** Who runs a call. */
export interface ObservedProvider {
  readonly workerId: string;
  readonly name: string;
  readonly builtIn: boolean;
}

export type ObservedOutcome = { readonly ok: true; readonly result: Payload | undefined } | { readonly ok: false; readonly error: CallError };

/** One call under observation. */
export interface CallSpan {
  /** What the callee gets as its trace context, and its caller's answer carries. The call's own where it is counted and not recorded. */
  readonly traceparent: string | undefined;
  /** Called exactly once. */
  ended(outcome: ObservedOutcome): void;
}

/** `traces`, `metrics`, `logs`: the signals of OpenTelemetry. */
export type Signal = "traces" | "metrics" | "logs";

/** Where telemetry from outside came from. */
export interface IngestSource {
  /** The connection's worker; undefined for `/otel` sockets. */
  readonly worker: { readonly id: string; readonly name: string } | undefined;
  /** `ip:port`. */
  readonly address: string | undefined;
  /** Whose connection it is. */
  readonly principal: Principal;
}

/** Takes what the kernel and the modules tell of their work. Called on the hot path: nothing here may block, throw or wait. */
export interface TelemetryCollector {
  /** A call is about to be handed to `provider`. Undefined: it is not observed. `startedAt`: now, in milliseconds on the monotonic clock. */
  callStarted(call: ObservedCall, provider: ObservedProvider, startedAt: number): CallSpan | undefined;
  /** A call was refused before anybody took it. */
  callRefused(call: ObservedCall, error: CallError): void;
  /** A call was turned away at its caller's connection, which may not make it, makes too many or asks for what makes no sense. To be counted only: its maker may try as often as it likes. */
  callDenied(error: CallError, caller: Caller): void;
  /** `module`: whose work it is, e.g. `svc-http`. */
  startSpan(span: SpanStart, module: string): ActiveSpan;
  log(entry: LogEntry): void;
  /** OTLP/JSON as a worker sent it (protocol section 9), unread. */
  ingest(signal: Signal, body: Uint8Array, source: IngestSource): void;
}

/** One figure of a module as it stands at the moment it is asked. */
export interface Measurement {
  /** OpenTelemetry style, e.g. `svc.queue.waiting`. */
  readonly name: string;
  /** `counter`: a total since the start of the engine that only grows. */
  readonly type: "gauge" | "counter";
  /** UCUM, e.g. `By`, `ms`; default `1`. */
  readonly unit?: string | undefined;
  /** One sentence, for listings. */
  readonly description?: string | undefined;
  /** Few different values each. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly value: number;
}

/** Asked every 5 s: cheap, and answered within 4 s. One that fails or is late is left out until the next time. */
export type Measure = () => Awaitable<Iterable<Measurement>>;

/** How the process of a worker does; members that nobody told are absent. Names and units as published clients know them. */
export interface WorkerMetrics {
  /** Bytes. */
  readonly memory_heap_used?: number;
  readonly memory_heap_total?: number;
  readonly memory_rss?: number;
  readonly memory_external?: number;
  readonly cpu_user_micros?: number;
  readonly cpu_system_micros?: number;
  /** Of one core, so that it may be over 100. */
  readonly cpu_percent?: number;
  readonly event_loop_lag_ms?: number;
  readonly uptime_seconds?: number;
  /** When it was told, in milliseconds since 1970. */
  readonly timestamp_ms: number;
  readonly runtime: string;
}

/** The part of `ModuleContext` about telemetry. */
export interface Telemetry {
  /** Begins a span. Without a collector it only passes the trace context on. */
  startSpan(span: SpanStart): ActiveSpan;
  log(entry: LogEntry): void;
  /** Has the module's figures sampled. */
  provideMeasurements(measure: Measure): Undo;
  /** What every module measures at present. */
  readonly measures: Iterable<Measure>;
  /** Takes on telling how the processes of workers do. One module at a time does. */
  provideWorkerMetrics(read: (workerId: string) => WorkerMetrics | undefined): Undo;
  /** How the process of a connected worker does; undefined when nobody told that lately. */
  workerMetrics(workerId: string): WorkerMetrics | undefined;
  /** Takes over everything that is told. One module at a time does; without any it is dropped. */
  collect(collector: TelemetryCollector): Undo;
}
