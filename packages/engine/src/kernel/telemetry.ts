import type { Undo } from "./scope.ts";
import type {
  ActiveSpan,
  LogEntry,
  Measure,
  Signal,
  SpanStart,
  Telemetry,
  TelemetryCollector,
  WorkerMetrics,
} from "./telemetry-contract.ts";

/** Passes telemetry of the kernel and the modules to the collector. */
export class TelemetryHub implements Pick<Telemetry, "log" | "collect"> {
  /** A plain field and not a getter, because it is read for each call. */
  collector: TelemetryCollector | undefined;
  readonly #measures = new Set<Measure>();
  #workerMetrics: ((workerId: string) => WorkerMetrics | undefined) | undefined;

  startSpan(span: SpanStart, module: string): ActiveSpan {
    return (
      this.collector?.startSpan(span, module) ?? {
        traceparent: span.traceparent,
        setAttribute: () => {},
        end: () => {},
      }
    );
  }

  log(entry: LogEntry): void {
    this.collector?.log(entry);
  }

  provideMeasurements(measure: Measure): Undo {
    const own: Measure = () => measure();
    this.#measures.add(own);
    return () => this.#measures.delete(own);
  }

  get measures(): Iterable<Measure> {
    return this.#measures;
  }

  provideWorkerMetrics(read: (workerId: string) => WorkerMetrics | undefined): Undo {
    if (this.#workerMetrics !== undefined) throw new TypeError("another module already provides worker metrics");
    this.#workerMetrics = read;
    return () => {
      if (this.#workerMetrics === read) this.#workerMetrics = undefined;
    };
  }

  workerMetrics(workerId: string): WorkerMetrics | undefined {
    return this.#workerMetrics?.(workerId);
  }

  collect(collector: TelemetryCollector): Undo {
    if (this.collector !== undefined) throw new TypeError("another module already collects telemetry");
    this.collector = collector;
    return () => {
      if (this.collector === collector) this.collector = undefined;
    };
  }
}

/** A telemetry frame begins with four ASCII letters, which name the signal. OTLP/JSON follows. */
export const SIGNAL_PREFIX_BYTES = 4;

const SIGNALS: ReadonlyMap<string, Signal> = new Map([
  ["OTLP", "traces"],
  ["MTRC", "metrics"],
  ["LOGS", "logs"],
]);

/** Returns the signal of a binary frame; undefined if it is not a telemetry frame. */
export function signalOfFrame(bytes: Buffer): Signal | undefined {
  return SIGNALS.get(bytes.toString("latin1", 0, SIGNAL_PREFIX_BYTES));
}
