import type { Clock, Streams, SystemStream } from "@svc-runtime/engine/module";
import { PartSender } from "../part-sender.ts";
import { ReportDelay } from "../report-delay.ts";
import { logJson, type RedactAttributes } from "./log-json.ts";
import type { RecentLogs } from "./recent-logs.ts";
import type { StoredLog } from "./stored-log.ts";

/** Name of the system stream. Its events carry `{logs, dropped}`. */
const LOG_STREAM = "svc.logs";
/** Minimum time between two reports, in milliseconds. People cannot read a list that changes faster. */
const DELAY_MS = 250;
const BUSY_DELAY_MS = 1_000;
/** A report of more entries than this is a large one. */
const LARGE = 25;
const MAX_BATCH = 500;
/** Number of entries that a new subscriber receives. */
const SNAPSHOT_COUNT = 200;

export class LogStream {
  readonly #stream: SystemStream;
  readonly #delay: ReportDelay;
  readonly #redact: RedactAttributes;
  readonly #events: PartSender<string>;
  /**
   * The entries of the next events, as JSON. Each is serialized when it arrives, so that calls never wait until many
   * entries are serialized.
   */
  #batch: string[] = [];
  #dropped = 0;

  constructor(parts: {
    readonly streams: Streams;
    readonly clock: Clock;
    readonly redact: RedactAttributes;
    readonly recent: RecentLogs;
  }) {
    this.#delay = new ReportDelay({
      clock: parts.clock,
      ...{ delayMs: DELAY_MS, busyDelayMs: BUSY_DELAY_MS, large: LARGE, full: MAX_BATCH / 2 },
    });
    this.#redact = parts.redact;
    this.#events = new PartSender(parts.clock, MAX_BATCH, (entries) => {
      const json = `{"type":"logs","data":{"logs":[${entries.join()}],"dropped":${this.#dropped}}}`;
      this.#dropped = 0;
      this.#stream.publish({ id: null, type: "event", json });
    });
    this.#stream = parts.streams.provideSystemStream({
      name: LOG_STREAM,
      summary:
        "Log entries as they arrive, up to 50 in one event; reported at most four times per second, once while many arrive",
      snapshot(id, access) {
        if (access?.callRefusal("engine::logs::list") !== undefined) return id === undefined ? "[]" : "null";
        const entries = parts.recent.newest(SNAPSHOT_COUNT).map((entry) => logJson(entry, parts.redact));
        return JSON.stringify(id === undefined ? entries : (entries.find((entry) => entry.id === id) ?? null));
      },
    });
  }

  add(entry: StoredLog): void {
    if (this.#stream.subscribers === 0) return;
    if (this.#batch.length < MAX_BATCH) this.#batch.push(JSON.stringify(logJson(entry, this.#redact)));
    else this.#dropped += 1;
    this.#delay.waiting(this.#batch.length, this.#publish);
  }

  stop(): void {
    this.#delay.cancel();
    this.#events.stop();
    this.#stream.stop();
  }

  readonly #publish = (): void => {
    this.#delay.reported(this.#batch.length);
    const entries = this.#batch;
    this.#batch = [];
    this.#dropped += this.#events.add(entries);
  };
}
