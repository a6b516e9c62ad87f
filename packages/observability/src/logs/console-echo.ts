import type { Clock, Logger } from "@svc-runtime/engine/module";
import { jsonEscape } from "@svc-runtime/protocol/json-text";
import type { LogRecord } from "../telemetry-records.ts";
import { boundRecord } from "./bounded-record.ts";
import type { RedactAttributes } from "./log-json.ts";

/** Maximum number of entries per window. The limit exists because the engine waits for each write to a terminal. */
const MAX_PER_WINDOW = 100;
const WINDOW_MS = 1_000;
const MAX_DATA_CHARACTERS = 64 * 1024;

/** Writes at most 100 worker entries per second to the engine's output. Escapes control characters for terminals. */
export class ConsoleEcho {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #redact: RedactAttributes;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #shown = 0;
  #suppressed = 0;
  /**
   * True while this object writes a line. The engine's log lines become entries, so this prevents that an entry is
   * written again.
   */
  isWriting = false;

  constructor(parts: { readonly log: Logger; readonly clock: Clock; readonly redact: RedactAttributes }) {
    this.#log = parts.log;
    this.#clock = parts.clock;
    this.#redact = parts.redact;
  }

  show(record: LogRecord): void {
    if (!this.#hasRoom()) return;
    const log = boundRecord(record);
    const data = JSON.stringify(this.#redact(log.attributes));
    const worker = log.attributes["svc.worker.name"];
    this.#write(LEVELS[log.severityText], "a worker logs", {
      service: escapeControls(log.resource.service),
      ...(typeof worker === "string" && worker !== log.resource.service ? { worker: escapeControls(worker) } : {}),
      text: escapeControls(log.body),
      ...(data === "{}"
        ? {}
        : {
            data:
              data.length > MAX_DATA_CHARACTERS
                ? escapeControls(data.slice(0, MAX_DATA_CHARACTERS))
                : (JSON.parse(escapeControls(data)) as unknown),
          }),
      ...(log.traceId === undefined ? {} : { traceId: log.traceId }),
      ...(log.spanId === undefined ? {} : { spanId: log.spanId }),
      ...(log === record ? {} : { truncated: true }),
    });
  }

  #hasRoom(): boolean {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#windowStartMs >= WINDOW_MS) {
      const suppressed = this.#suppressed;
      this.#windowStartMs = nowMs;
      this.#shown = 0;
      this.#suppressed = 0;
      if (suppressed > 0)
        this.#write("info", "some worker log lines were not printed here; they are in the log store", {
          lines: suppressed,
        });
    }
    if (this.#shown >= MAX_PER_WINDOW) {
      this.#suppressed += 1;
      return false;
    }
    this.#shown += 1;
    return true;
  }

  #write(level: "debug" | "info" | "warn" | "error", message: string, fields: Readonly<Record<string, unknown>>): void {
    this.isWriting = true;
    try {
      this.#log[level](message, fields);
    } finally {
      this.isWriting = false;
    }
  }
}

/** Logger levels by severity. TRACE is written as debug, because the logger has no lower level. */
const LEVELS = { TRACE: "debug", DEBUG: "debug", INFO: "info", WARN: "warn", ERROR: "error" } as const;

const CONTROL_CHARACTERS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escapes what could steer a terminal or reverse its text direction
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

function escapeControls(text: string): string {
  return text.replace(CONTROL_CHARACTERS, jsonEscape);
}
