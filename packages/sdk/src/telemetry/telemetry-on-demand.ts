import { OnDemand, type Part } from "../on-demand.ts";
import type { LogEntry } from "./log-entry.ts";
import type { SpanRecord } from "./span-record.ts";
import type { TelemetryEntries, TelemetrySink, TelemetrySinkOptions } from "./telemetry-sink.ts";
import type { WorkerTelemetry } from "./worker-telemetry.ts";

/** Creates the telemetry object. It comes from the part of the SDK that is loaded. */
export type CreateTelemetry = (options: TelemetrySinkOptions) => WorkerTelemetry;

/** Maximum number of entries that wait until the part is loaded. Further entries are dropped and counted. */
const MAX_EARLY_ENTRIES = 1000;

/**
 * Telemetry that is implemented in a part of the SDK. The part begins to load when the worker is created. Until it is
 * loaded, entries wait.
 */
export class TelemetryOnDemand implements TelemetrySink {
  readonly #sink: OnDemand<CreateTelemetry, WorkerTelemetry>;
  readonly #options: TelemetrySinkOptions;
  #earlyEntries = 0;
  readonly #dropped = { "log entries": 0, spans: 0 };
  #hasFailed = false;

  constructor(part: Part<CreateTelemetry>, options: TelemetrySinkOptions) {
    this.#sink = new OnDemand(part, (create) => create(options));
    this.#options = options;
    this.#run(() => {});
  }

  log(entry: LogEntry): void {
    this.#add("log entries", (sink) => sink.log(entry));
  }

  span(span: SpanRecord): void {
    this.#add("spans", (sink) => sink.span(span));
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

  #add(what: TelemetryEntries, action: (sink: WorkerTelemetry) => void): void {
    if (this.#sink.value !== undefined || this.#earlyEntries++ < MAX_EARLY_ENTRIES) this.#run(action);
    else if (this.#dropped[what]++ === 0) this.#run((sink) => sink.dropped(what, this.#dropped[what]));
  }

  #run(action: (sink: WorkerTelemetry) => void): void {
    // After a failure, the part is not loaded again, because an attempt for each log line would overload the page's
    // server.
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
