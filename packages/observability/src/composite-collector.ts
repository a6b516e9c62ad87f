import type {
  ActiveSpan,
  CallSpan,
  IngestSource,
  LogEntry,
  ObservedCall,
  ObservedProvider,
  Signal,
  SpanStart,
  TelemetryCollector,
} from "@svc-runtime/engine/module";
import type { CallError, Caller } from "@svc-runtime/protocol";
import type { CallRecorder } from "./calls/recorder.ts";

export interface LogAndIngestSink {
  log(entry: LogEntry): void;
  ingest(signal: Signal, body: Uint8Array, source: IngestSource): void;
}

/** Combines the module's parts into the one telemetry collector that the engine's kernel uses. */
export class CompositeCollector implements TelemetryCollector {
  readonly #calls: CallRecorder;
  readonly #others: LogAndIngestSink;

  constructor(calls: CallRecorder, others: LogAndIngestSink) {
    this.#calls = calls;
    this.#others = others;
  }

  callStarted(call: ObservedCall, provider: ObservedProvider, startedAt: number): CallSpan | undefined {
    return this.#calls.callStarted(call, provider, startedAt);
  }

  callRefused(call: ObservedCall, error: CallError): void {
    this.#calls.callRefused(call, error);
  }

  callDenied(error: CallError, caller: Caller): void {
    this.#calls.callDenied(error, caller);
  }

  startSpan(span: SpanStart, module: string): ActiveSpan {
    return this.#calls.startSpan(span, module);
  }

  log(entry: LogEntry): void {
    this.#others.log(entry);
  }

  ingest(signal: Signal, body: Uint8Array, source: IngestSource): void {
    this.#others.ingest(signal, body, source);
  }
}
