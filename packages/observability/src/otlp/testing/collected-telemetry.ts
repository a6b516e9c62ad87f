import type { LogRecord, MetricRecord, SpanRecord } from "../../telemetry-records.ts";
import { decode } from "../decode.ts";
import type { Origin } from "../decode-context.ts";
import type { IngestSinks } from "../ingest.ts";
import { RecordRate } from "../record-rate.ts";

/** Sinks that store what they receive, and drop counts by `signal reason`. */
export class CollectedTelemetry implements IngestSinks {
  readonly pending: SpanRecord[] = [];
  readonly ended: SpanRecord[] = [];
  readonly logRecords: LogRecord[] = [];
  readonly metricRecords: MetricRecord[] = [];
  readonly counts = new Map<string, number>();
  readonly spans = {
    started: (span: SpanRecord) => void this.pending.push(span),
    ended: (span: SpanRecord) => void this.ended.push(span),
  };
  readonly logs = { add: (log: LogRecord) => void this.logRecords.push(log) };
  readonly metrics = { add: (metric: MetricRecord) => void this.metricRecords.push(metric) };
  readonly drops = {
    dropped: (signal: string, reason: string, count: number) =>
      void this.counts.set(`${signal} ${reason}`, (this.counts.get(`${signal} ${reason}`) ?? 0) + count),
  };
  readonly now = () => 1_790_000_000_500;
  monotonicMs = 0;
  readonly rate = new RecordRate(() => this.monotonicMs);

  /** Decodes a whole request. Returns for each record if it was accepted. */
  decode(signal: "traces" | "logs" | "metrics", body: unknown, origin: Partial<Origin> = {}): boolean[] {
    const whole: Origin = { worker: undefined, isFrame: false, mayBeWorker: () => false, ...origin };
    return [...decode(signal, body, { ...this, origin: whole, nowNanos: BigInt(this.now()) * 1_000_000n })];
  }
}
