import type { Clock, Streams, SystemStream } from "@svc-runtime/engine/module";
import { logJson, type RedactAttributes } from "./log-json.ts";
import type { RecentLogs } from "./recent-logs.ts";
import type { StoredLog } from "./stored-log.ts";

/** Name of the system stream. Its events carry `{logs, dropped}`. */
const LOG_STREAM = "svc.logs";
/** Minimum time between two events, in milliseconds. */
const BATCH_MS = 250;
const MAX_BATCH = 500;
/** Number of entries that a new subscriber receives. */
const SNAPSHOT_COUNT = 200;

export class LogStream {
  readonly #stream: SystemStream;
  readonly #clock: Clock;
  readonly #redact: RedactAttributes;
  #batch: StoredLog[] = [];
  #dropped = 0;
  #cancelBatch: (() => void) | undefined;

  constructor(parts: {
    readonly streams: Streams;
    readonly clock: Clock;
    readonly redact: RedactAttributes;
    readonly recent: RecentLogs;
  }) {
    this.#clock = parts.clock;
    this.#redact = parts.redact;
    this.#stream = parts.streams.provideSystemStream({
      name: LOG_STREAM,
      summary: "Log entries as they arrive",
      snapshot(id, access) {
        if (access?.callRefusal("engine::logs::list") !== undefined) return id === undefined ? "[]" : "null";
        const entries = parts.recent.newest(SNAPSHOT_COUNT).map((entry) => logJson(entry, parts.redact));
        return JSON.stringify(id === undefined ? entries : (entries.find((entry) => entry.id === id) ?? null));
      },
    });
  }

  add(entry: StoredLog): void {
    if (this.#stream.subscribers === 0) return;
    if (this.#batch.length < MAX_BATCH) this.#batch.push(entry);
    else this.#dropped += 1;
    this.#cancelBatch ??= this.#clock.after(BATCH_MS, () => this.#publish());
  }

  stop(): void {
    this.#cancelBatch?.();
    this.#stream.stop();
  }

  #publish(): void {
    this.#cancelBatch = undefined;
    const logs = this.#batch.map((entry) => logJson(entry, this.#redact));
    const dropped = this.#dropped;
    this.#batch = [];
    this.#dropped = 0;
    this.#stream.publish({ id: null, type: "event", json: JSON.stringify({ type: "logs", data: { logs, dropped } }) });
  }
}
