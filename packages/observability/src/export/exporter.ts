import { type Clock, every, type Logger, type Signal } from "@svc-runtime/engine/module";
import { maskText } from "@svc-runtime/protocol";
import { isExported, type ObservabilityConfig } from "../config.ts";
import { encodeLogs, encodeMetrics, encodeTraces, type ShowAttributes } from "../otlp/encode.ts";
import type { DropCounter, LogRecord, LogSink, MetricRecord, SpanRecord, SpanSink } from "../telemetry-records.ts";
import { collectorAddress } from "./collector-address.ts";
import { ExportQueue, type ExportState, type Sender } from "./export-queue.ts";

/** Maximum size of queued spans, in bytes. It is enough for one minute without a collector, at 500 spans per second. */
const SPANS_MAX_BYTES = 32 * 1024 * 1024;
const LOGS_MAX_BYTES = 16 * 1024 * 1024;
const METRICS_MAX_BYTES = 8 * 1024 * 1024;
const SPANS_PER_REQUEST = 256;
const SPANS_FLUSH_MS = 1_000;
const METRICS_PER_REQUEST = 256;
const METRICS_FLUSH_MS = 100;
/** Maximum time that a stop waits for the collector, in milliseconds. */
const STOP_MS = 2_000;
/** Approximate overhead of a log entry, in bytes. */
const LOG_BYTES = 300;
/** Approximate overhead of a metric point, in bytes. */
const POINT_BYTES = 150;

export interface ExporterParts {
  readonly config: ObservabilityConfig;
  readonly clock: Clock;
  readonly drops: DropCounter;
  /** Returns the current metrics; called every `metrics_interval_seconds`. */
  readonly metrics: () => readonly MetricRecord[];
  /** Masks attributes before export. */
  readonly show: ShowAttributes;
  /** Logs when exports start to fail, and when they work again. */
  readonly log?: Logger;
}

/**
 * Sends spans, logs and metrics to a collector over OTLP, depending on the config. It receives only spans that are
 * already sampled. Pending spans are not sent, because a collector would consider them ended.
 */
export class Exporter implements SpanSink, LogSink {
  readonly #spans: ExportQueue<SpanRecord> | undefined;
  readonly #logs: ExportQueue<LogRecord> | undefined;
  readonly #metrics: ExportQueue<MetricRecord> | undefined;
  readonly #collectMetrics: () => readonly MetricRecord[];
  readonly #stopMetrics: () => void;

  constructor({ config, clock, drops, metrics, show, log }: ExporterParts) {
    const common = { drops, clock };
    const onStateChange = (signal: Signal) => log && logStateChanges(log, signal, collectorAddress(config, signal).url);
    this.#collectMetrics = metrics;
    if (isExported(config, "traces")) {
      this.#spans = new ExportQueue<SpanRecord>({
        ...common,
        signal: "spans",
        onStateChange: onStateChange("traces"),
        sizeOf: ({ size }) => size,
        maxBytes: SPANS_MAX_BYTES,
        batchSize: SPANS_PER_REQUEST,
        flushMs: SPANS_FLUSH_MS,
        openSender: () => open(config, "traces", (spans: readonly SpanRecord[]) => encodeTraces(spans, show)),
      });
    }
    if (isExported(config, "logs")) {
      this.#logs = new ExportQueue<LogRecord>({
        ...common,
        signal: "logs",
        onStateChange: onStateChange("logs"),
        sizeOf: sizeOfLog,
        maxBytes: LOGS_MAX_BYTES,
        batchSize: config.logs_batch_size,
        flushMs: config.logs_flush_interval_ms,
        openSender: () => open(config, "logs", (logs: readonly LogRecord[]) => encodeLogs(logs, show)),
      });
    }
    if (isExported(config, "metrics")) {
      this.#metrics = new ExportQueue<MetricRecord>({
        ...common,
        signal: "metrics",
        onStateChange: onStateChange("metrics"),
        sizeOf: ({ points }) => POINT_BYTES * (points.length + 1),
        maxBytes: METRICS_MAX_BYTES,
        batchSize: METRICS_PER_REQUEST,
        flushMs: METRICS_FLUSH_MS,
        openSender: () => open(config, "metrics", encodeMetrics),
      });
    }
    this.#stopMetrics =
      this.#metrics === undefined
        ? () => {}
        : every(clock, config.metrics_interval_seconds * 1_000, () => this.#takeMetrics());
  }

  get states(): readonly ExportState[] {
    return [this.#spans, this.#logs, this.#metrics].flatMap((queue) => (queue === undefined ? [] : [queue.state]));
  }

  started(): void {}

  ended(span: SpanRecord): void {
    if (this.#spans === undefined || span.endUnixNano === undefined) return;
    span.retain?.();
    this.#spans.add(span);
  }

  add(log: LogRecord): void {
    this.#logs?.add(log);
  }

  /** Sends the queued records and the current metrics, for at most two seconds. */
  async stop(): Promise<void> {
    this.#stopMetrics();
    this.#takeMetrics();
    await Promise.all([this.#spans?.stop(STOP_MS), this.#logs?.stop(STOP_MS), this.#metrics?.stop(STOP_MS)]);
  }

  #takeMetrics(): void {
    if (this.#metrics === undefined) return;
    for (const metric of this.#collectMetrics()) this.#metrics.add(metric);
  }
}

function logStateChanges(log: Logger, signal: Signal, url: string): (reason: string | undefined) => void {
  const endpoint = maskText(url);
  return (reason) => {
    if (reason === undefined) log.info(`export of ${signal} works again`, { endpoint });
    else
      log.warn(`export of ${signal} fails; they are queued up to a limit and sent when the collector is back`, {
        endpoint,
        reason,
      });
  };
}

async function open<T>(
  config: ObservabilityConfig,
  signal: Signal,
  encode: (records: readonly T[]) => object,
): Promise<Sender<T>> {
  const { openSender } = await import("./sender.ts");
  return openSender(collectorAddress(config, signal), encode);
}

const sizes = new WeakMap<LogRecord, number>();

/** Returns the size of a log entry. It is cached, so that the same size is added and subtracted. */
function sizeOfLog(log: LogRecord): number {
  let size = sizes.get(log);
  if (size === undefined) {
    size = LOG_BYTES + log.body.length;
    for (const [key, value] of Object.entries(log.attributes))
      size += key.length + 16 + (typeof value === "string" ? value.length : JSON.stringify(value).length);
    sizes.set(log, size);
  }
  return size;
}
