import type { LogRecord, LogSink } from "../model.ts";
import { boundRecord } from "./bounded-record.ts";
import type { StoredLog } from "./log-store.ts";

/** Ids of entries that may come twice, by two ways; the oldest are forgotten first. */
const MAX_REMEMBERED_IDS = 4_096;
/** An SDK gives each of its lines one, in the line and in the frame, so that it is not kept twice. */
const LOG_ID = "svc.log.id";

/** Told of each entry that is kept. Never blocks, throws or waits. */
export type LogListener = (entry: StoredLog) => void;

/** The one way in: bounds each entry, leaves out doubles and what is not sampled, numbers the rest and tells it to those who want it. */
export class LogIntake implements LogSink {
  readonly #listeners: readonly LogListener[];
  readonly #remembered = new Set<string>();
  #samplingRatio: number;
  #nextId: number;

  /** `firstId` must be greater than all that were ever given. */
  constructor(options: { readonly firstId: number; readonly samplingRatio: number; readonly listeners: readonly LogListener[] }) {
    this.#nextId = options.firstId;
    this.#samplingRatio = options.samplingRatio;
    this.#listeners = options.listeners;
  }

  setSamplingRatio(ratio: number): void {
    this.#samplingRatio = ratio;
  }

  /** False when it came before, by another way. */
  add(log: LogRecord): boolean {
    if (this.#isDouble(log)) return false;
    if (!this.#isSampled(log)) return true;
    const entry: StoredLog = { id: this.#nextId++, log: boundRecord(log) };
    for (const listener of this.#listeners) listener(entry);
    return true;
  }

  /** By the id alone: a line goes by the name in the config, and a frame by that which the worker gave itself. */
  #isDouble({ attributes }: LogRecord): boolean {
    const id = attributes[LOG_ID];
    if (typeof id !== "string" || id.length > 64) return false;
    if (this.#remembered.has(id)) return true;
    this.#remembered.add(id);
    const [oldest] = this.#remembered;
    if (this.#remembered.size > MAX_REMEMBERED_IDS && oldest !== undefined) this.#remembered.delete(oldest);
    return false;
  }

  /** Entries of one trace are kept or left out together. */
  #isSampled({ traceId }: LogRecord): boolean {
    if (this.#samplingRatio >= 1) return true;
    const share = traceId === undefined ? Math.random() : Number.parseInt(traceId.slice(-8), 16) / 0x1_0000_0000;
    return share < this.#samplingRatio;
  }
}
