import type { Active, Ambient } from "../active-call.ts";
import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { VERSION } from "../version.ts";
import { Allowance } from "./allowance.ts";
import { type LogEntry, otlpLogRecord } from "./log-entry.ts";
import { Outbox } from "./outbox.ts";
import { OwnSpan, type Span, type SpanOptions } from "./own-span.ts";
import { randomHex } from "./random-hex.ts";
import type { TelemetrySwitches } from "./telemetry-options.ts";
import { wallTimeMs } from "./wall-time.ts";
import { type ProcessFigures, WorkerGauges } from "./worker-gauges.ts";

/** With so many bytes ahead of it in the socket, telemetry waits: calls and answers go first. */
const MAX_BACKLOG_BYTES = 1024 * 1024;

/**
 * Spans of calls that are not sampled. The engine holds them for a while and keeps them only if their trace turns out to be worth it; mostly it is not,
 * so they must not cost what sampling saves.
 */
export const MAX_UNSAMPLED_PER_SECOND = 100;

const encoder = new TextEncoder();

export interface WorkerTelemetryOptions {
  /** The worker's name. */
  readonly name: string;
  readonly on: TelemetrySwitches;
  readonly clock: Clock;
  readonly ambient: Ambient;
  /** `svc-node` or the like. */
  readonly framework: string;
  /** By OpenTelemetry's names: `nodejs`, `webjs`. */
  readonly language: string;
  readonly pid: number | undefined;
  /** Absent: the platform cannot tell how its process is. */
  readonly figures: ProcessFigures | undefined;
  /** The user's logger, which tells what was lost. */
  readonly logger: Logger;
  /** The worker's socket. */
  readonly socket: { bufferedBytes(): number; send(frame: Uint8Array): void };
}

/**
 * What a worker tells of its work, as OTLP/JSON frames over its own connection (protocol section 9). Batched and bounded; an engine that
 * is away or slow costs entries, counted, and never a call.
 */
export class WorkerTelemetry {
  readonly #options: WorkerTelemetryOptions;
  readonly #logs: Outbox | undefined;
  readonly #spans: Outbox | undefined;
  readonly #unsampled: Allowance;
  readonly #gauges: WorkerGauges | undefined;
  readonly #resource: string;
  readonly #scope: string;

  constructor(options: WorkerTelemetryOptions) {
    const { name, on, clock, figures, framework, language, pid } = options;
    this.#options = options;
    this.#unsampled = new Allowance(clock, MAX_UNSAMPLED_PER_SECOND);
    const attributes: Readonly<Record<string, string | undefined>> = {
      "service.name": name,
      "service.instance.id": randomHex(16),
      "telemetry.sdk.name": "svc",
      "telemetry.sdk.language": language,
      "telemetry.sdk.version": VERSION,
      "process.pid": pid === undefined ? undefined : String(pid),
    };
    const listed = Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: { stringValue: value } }]));
    this.#resource = JSON.stringify({ attributes: listed });
    this.#scope = JSON.stringify({ name: framework, version: VERSION });
    if (on.logs) {
      this.#logs = new Outbox({ clock, send: (entries) => this.#send("LOGS", entries), lost: (count) => this.#lost("log entries", count) });
    }
    if (on.spans) {
      this.#spans = new Outbox({ clock, send: (entries) => this.#send("OTLP", entries), lost: (count) => this.#lost("spans", count) });
    }
    if (on.metrics && figures !== undefined) {
      this.#gauges = new WorkerGauges({ clock, figures, hand: (metrics) => this.#send("MTRC", metrics) });
    }
  }

  /** Takes a log line; undefined where lines are not sent. */
  get logEntries(): ((entry: LogEntry) => void) | undefined {
    const outbox = this.#logs;
    return outbox === undefined ? undefined : (entry) => outbox.add(otlpLogRecord(entry));
  }

  /** The engine has greeted the worker. */
  registered(workerId: string): void {
    this.#logs?.open();
    this.#spans?.open();
    this.#gauges?.start(workerId, this.#options.name);
  }

  /** The connection ended: what waits goes to the next one. */
  disconnected(): void {
    this.#logs?.close();
    this.#spans?.close();
    this.#gauges?.stop();
  }

  /** For the end: hands what waits to the socket. */
  flush(): void {
    this.#logs?.flush();
    this.#spans?.flush();
  }

  /** Runs `body` as a span below `parent`. */
  span<Result>(name: string, body: (span: Span) => Result, options: SpanOptions, parent: Active | undefined): Result {
    const { ambient } = this.#options;
    const isWanted = (sampled: boolean): boolean => this.#spans !== undefined && (sampled || this.#unsampled.take());
    const span = new OwnSpan(name, options, ambient.headers(parent), parent?.activeCall, isWanted);
    let result: Result;
    try {
      result = ambient.run(span, body, span);
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
    const message = `${what} were dropped: more came than the engine took`;
    this.#options.logger.warn(message, { worker: this.#options.name, dropped: count });
    this.#logs?.add(otlpLogRecord({ timeMs: wallTimeMs(), level: "warn", message, fields: { dropped: count }, logId: randomHex(8) }));
  }
}

const GROUPS = {
  OTLP: ["resourceSpans", "scopeSpans", "spans"],
  LOGS: ["resourceLogs", "scopeLogs", "logRecords"],
  MTRC: ["resourceMetrics", "scopeMetrics", "metrics"],
} as const;
