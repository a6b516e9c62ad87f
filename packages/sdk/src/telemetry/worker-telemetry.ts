import { VERSION } from "../version.ts";
import { type LogEntry, otlpLogRecord } from "./log-entry.ts";
import { otlpSpan } from "./otlp-span.ts";
import { Outbox } from "./outbox.ts";
import { randomHex } from "./random-hex.ts";
import type { SpanRecord } from "./span-record.ts";
import type { TelemetryEntries, TelemetrySink, TelemetrySinkOptions } from "./telemetry-sink.ts";
import { wallTimeMs } from "./wall-time.ts";
import { WorkerGauges } from "./worker-gauges.ts";

/**
 * Maximum number of unsent bytes of the socket at which telemetry is sent. If there are more, telemetry waits, so that
 * calls and results are sent first.
 */
const MAX_BACKLOG_BYTES = 1024 * 1024;

const encoder = new TextEncoder();

/**
 * Sends telemetry of a worker as OTLP/JSON frames over the worker's connection (section 9 of the protocol). Entries are
 * sent in batches from a buffer of limited size. If the engine is disconnected or slow, entries are dropped and
 * counted, so that calls are not delayed.
 */
export class WorkerTelemetry implements TelemetrySink {
  readonly #options: TelemetrySinkOptions;
  readonly #logs: Outbox | undefined;
  readonly #spans: Outbox | undefined;
  readonly #gauges: WorkerGauges | undefined;
  readonly #resource: string;
  readonly #scope: string;

  constructor(options: TelemetrySinkOptions) {
    const { name, on, clock, stats, framework, language, pid } = options;
    this.#options = options;
    const attributes: Readonly<Record<string, string | undefined>> = {
      "service.name": name,
      "service.instance.id": randomHex(16),
      "telemetry.sdk.name": "svc",
      "telemetry.sdk.language": language,
      "telemetry.sdk.version": VERSION,
      "process.pid": pid === undefined ? undefined : String(pid),
    };
    const listed = Object.entries(attributes).flatMap(([key, value]) =>
      value === undefined ? [] : [{ key, value: { stringValue: value } }],
    );
    this.#resource = JSON.stringify({ attributes: listed });
    this.#scope = JSON.stringify({ name: framework, version: VERSION });
    if (on.logs) {
      this.#logs = new Outbox({
        clock,
        send: (entries) => this.#send("LOGS", entries),
        lost: (count) => this.dropped("log entries", count),
      });
    }
    if (on.spans) {
      this.#spans = new Outbox({
        clock,
        send: (entries) => this.#send("OTLP", entries),
        lost: (count) => this.dropped("spans", count),
      });
    }
    if (on.metrics && stats !== undefined) {
      this.#gauges = new WorkerGauges({ clock, stats, send: (metrics) => this.#send("MTRC", metrics) });
    }
  }

  log(entry: LogEntry): void {
    this.#logs?.add(otlpLogRecord(entry));
  }

  span(span: SpanRecord): void {
    this.#spans?.add(otlpSpan(span));
  }

  /** Reports entries that were dropped. */
  dropped(what: TelemetryEntries, count: number): void {
    const message = `${what} were dropped: the buffer was full`;
    this.#options.logger.warn(message, { worker: this.#options.name, dropped: count });
    this.#logs?.add(
      otlpLogRecord({ timeMs: wallTimeMs(), level: "warn", message, fields: { dropped: count }, logId: randomHex(8) }),
    );
  }

  registered(workerId: string): void {
    this.#logs?.open();
    this.#spans?.open();
    this.#gauges?.start(workerId, this.#options.name);
  }

  disconnected(): void {
    this.#logs?.close();
    this.#spans?.close();
    this.#gauges?.stop();
  }

  flush(): undefined {
    this.#logs?.flush();
    this.#spans?.flush();
  }

  #send(signal: keyof typeof GROUPS, entries: readonly string[]): boolean {
    const { socket } = this.#options;
    if (socket.bufferedBytes() > MAX_BACKLOG_BYTES) return false;
    const [resources, scopes, list] = GROUPS[signal];
    const body = `{"${resources}":[{"resource":${this.#resource},"${scopes}":[{"scope":${this.#scope},"${list}":[${entries.join()}]}]}]}`;
    socket.send(encoder.encode(signal + body));
    return true;
  }
}

const GROUPS = {
  OTLP: ["resourceSpans", "scopeSpans", "spans"],
  LOGS: ["resourceLogs", "scopeLogs", "logRecords"],
  MTRC: ["resourceMetrics", "scopeMetrics", "metrics"],
} as const;
