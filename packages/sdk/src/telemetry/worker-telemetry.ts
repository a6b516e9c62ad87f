import type { Active, AsyncContext } from "../active-call.ts";
import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { RateLimiter } from "../rate-limiter.ts";
import { VERSION } from "../version.ts";
import { type LogEntry, otlpLogRecord } from "./log-entry.ts";
import { Outbox } from "./outbox.ts";
import { OwnSpan } from "./own-span.ts";
import { randomHex } from "./random-hex.ts";
import type { Span, SpanOptions } from "./span.ts";
import type { TelemetrySwitches } from "./telemetry-options.ts";
import { wallTimeMs } from "./wall-time.ts";
import { type ProcessStats, WorkerGauges } from "./worker-gauges.ts";

/**
 * Maximum unsent bytes of the socket at which telemetry is sent. Above it telemetry waits, so that calls and results
 * are sent first.
 */
const MAX_BACKLOG_BYTES = 1024 * 1024;

/**
 * Maximum number of spans of unsampled calls per second. The engine buffers them and keeps only those of failed or slow
 * traces, so they must stay cheap.
 */
export const MAX_UNSAMPLED_PER_SECOND = 100;

const encoder = new TextEncoder();

export interface WorkerTelemetryOptions {
  /** Name of the worker. */
  readonly name: string;
  readonly on: TelemetrySwitches;
  readonly clock: Clock;
  readonly asyncContext: AsyncContext;
  /** `svc-node` or the like. */
  readonly framework: string;
  /** OpenTelemetry's name of the language: `nodejs`, `webjs`. */
  readonly language: string;
  readonly pid: number | undefined;
  /** Absent if the platform cannot measure its process. */
  readonly stats: ProcessStats | undefined;
  /** The user's logger, which reports lost entries. */
  readonly logger: Logger;
  /** The worker's socket. */
  readonly socket: { bufferedBytes(): number; send(frame: Uint8Array): void };
}

/**
 * Sends telemetry of a worker as OTLP/JSON frames over the worker's connection (protocol section 9). Batched and
 * bounded: if the engine is disconnected or slow, entries are dropped and counted, but calls are not delayed.
 */
export class WorkerTelemetry {
  readonly #options: WorkerTelemetryOptions;
  readonly #logs: Outbox | undefined;
  readonly #spans: Outbox | undefined;
  readonly #unsampled: RateLimiter;
  readonly #gauges: WorkerGauges | undefined;
  readonly #resource: string;
  readonly #scope: string;

  constructor(options: WorkerTelemetryOptions) {
    const { name, on, clock, stats, framework, language, pid } = options;
    this.#options = options;
    this.#unsampled = new RateLimiter(MAX_UNSAMPLED_PER_SECOND);
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
        lost: (count) => this.#lost("log entries", count),
      });
    }
    if (on.spans) {
      this.#spans = new Outbox({
        clock,
        send: (entries) => this.#send("OTLP", entries),
        lost: (count) => this.#lost("spans", count),
      });
    }
    if (on.metrics && stats !== undefined) {
      this.#gauges = new WorkerGauges({ clock, stats, send: (metrics) => this.#send("MTRC", metrics) });
    }
  }

  /** Accepts log lines. Undefined if log lines are not sent. */
  get logEntries(): ((entry: LogEntry) => void) | undefined {
    const outbox = this.#logs;
    return outbox === undefined ? undefined : (entry) => outbox.add(otlpLogRecord(entry));
  }

  /** Starts sending. Called when the worker is connected. */
  registered(workerId: string): void {
    this.#logs?.open();
    this.#spans?.open();
    this.#gauges?.start(workerId, this.#options.name);
  }

  /** Stops sending. Called when the connection is lost. Buffered entries wait for the next connection. */
  disconnected(): void {
    this.#logs?.close();
    this.#spans?.close();
    this.#gauges?.stop();
  }

  /** Passes the buffered entries to the socket. For the shutdown. */
  flush(): void {
    this.#logs?.flush();
    this.#spans?.flush();
  }

  /** Runs `body` as a span below `parent`. */
  span<Result>(name: string, body: (span: Span) => Result, options: SpanOptions, parent: Active | undefined): Result {
    const { asyncContext, clock } = this.#options;
    const isWanted = (sampled: boolean): boolean =>
      this.#spans !== undefined && (sampled || this.#unsampled.take(clock.monotonicMs()));
    const span = new OwnSpan(name, options, asyncContext.headers(parent), parent?.activeCall, isWanted);
    let result: Result;
    try {
      result = asyncContext.run(span, body, span);
    } catch (thrown) {
      this.#ended(span, true, thrown);
      throw thrown;
    }
    if (!(result instanceof Promise)) {
      this.#ended(span, false);
      return result;
    }
    return result.then(
      (value: unknown) => {
        this.#ended(span, false);
        return value;
      },
      (thrown: unknown) => {
        this.#ended(span, true, thrown);
        throw thrown;
      },
    ) as Result;
  }

  #ended(span: OwnSpan, failed: boolean, thrown?: unknown): void {
    if (span.isRecorded) this.#spans?.add(span.ended(failed, thrown));
  }

  #send(signal: keyof typeof GROUPS, entries: readonly string[]): boolean {
    const { socket } = this.#options;
    if (socket.bufferedBytes() > MAX_BACKLOG_BYTES) return false;
    const [resources, scopes, list] = GROUPS[signal];
    const body = `{"${resources}":[{"resource":${this.#resource},"${scopes}":[{"scope":${this.#scope},"${list}":[${entries.join()}]}]}]}`;
    socket.send(encoder.encode(signal + body));
    return true;
  }

  #lost(what: string, count: number): void {
    const message = `${what} were dropped: the buffer was full`;
    this.#options.logger.warn(message, { worker: this.#options.name, dropped: count });
    this.#logs?.add(
      otlpLogRecord({ timeMs: wallTimeMs(), level: "warn", message, fields: { dropped: count }, logId: randomHex(8) }),
    );
  }
}

const GROUPS = {
  OTLP: ["resourceSpans", "scopeSpans", "spans"],
  LOGS: ["resourceLogs", "scopeLogs", "logRecords"],
  MTRC: ["resourceMetrics", "scopeMetrics", "metrics"],
} as const;
