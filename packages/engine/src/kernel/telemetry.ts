import type { Undo } from "./scope.ts";
import type { ActiveSpan, LogEntry, SpanStart, Telemetry, TelemetryCollector } from "./telemetry-contract.ts";

/** Hands what the kernel and the modules tell of their work to whoever collects it. */
export class TelemetryHub implements Pick<Telemetry, "log" | "collect"> {
  /** Read on the hot path. */
  collector: TelemetryCollector | undefined;

  startSpan(span: SpanStart, module: string): ActiveSpan {
    return this.collector?.startSpan(span, module) ?? { traceparent: span.traceparent, setAttribute: () => {}, end: () => {} };
  }

  log(entry: LogEntry): void {
    this.collector?.log(entry);
  }

  collect(collector: TelemetryCollector): Undo {
    if (this.collector !== undefined) throw new TypeError("another module collects telemetry already");
    this.collector = collector;
    return () => {
      if (this.collector === collector) this.collector = undefined;
    };
  }
}
