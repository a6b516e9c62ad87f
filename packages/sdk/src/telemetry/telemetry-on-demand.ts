import { OnDemand, type Part } from "../on-demand.ts";
import type { LogEntry } from "./log-entry.ts";
import type { SpanRecord } from "./span-record.ts";
import type { CreateTelemetrySink, TelemetrySink, TelemetrySinkOptions } from "./telemetry-sink.ts";

/** Maximum number of entries that wait until the part is loaded. Further ones are dropped. */
const MAX_EARLY_ENTRIES = 1000;

/** Telemetry whose part of the SDK is loaded when the worker is created. Entries wait until then. */
export class TelemetryOnDemand implements TelemetrySink {
  readonly #sink: OnDemand<CreateTelemetrySink, TelemetrySink>;
  readonly #options: TelemetrySinkOptions;
  #earlyEntries = 0;
  #hasFailed = false;

  constructor(part: Part<CreateTelemetrySink>, options: TelemetrySinkOptions) {
    this.#sink = new OnDemand(part, (create) => create(options));
    this.#options = options;
    this.#run(() => {});
  }

  log(entry: LogEntry): void {
    this.#add((sink) => sink.log(entry));
  }

  span(span: SpanRecord): void {
    this.#add((sink) => sink.span(span));
  }

  registered(workerId: string): void {
    this.#run((sink) => sink.registered(workerId));
  }

  disconnected(): void {
    this.#run((sink) => sink.disconnected());
  }

  flush(): Promise<void> | undefined {
    this.#run((sink) => void sink.flush());
    return this.#sink.loading;
  }

  #add(action: (sink: TelemetrySink) => void): void {
    if (this.#sink.value === undefined && this.#earlyEntries++ >= MAX_EARLY_ENTRIES) return;
    this.#run(action);
  }

  #run(action: (sink: TelemetrySink) => void): void {
    // One attempt: an attempt for each log line would load the page's server.
    if (!this.#hasFailed) this.#sink.run(action, (error) => this.#failed(error));
  }

  #failed(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#options.logger.warn("telemetry is not sent: its part of the SDK could not be loaded", {
      worker: this.#options.name,
      error,
    });
  }
}
