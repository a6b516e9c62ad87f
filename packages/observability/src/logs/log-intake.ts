import { RecentIds } from "../recent-ids.ts";
import { type LogRecord, type LogSink, NODE_ATTRIBUTE } from "../telemetry-records.ts";
import { boundRecord } from "./bounded-record.ts";
import type { StoredLog } from "./stored-log.ts";

/** Maximum number of remembered entry ids, for entries that may arrive twice. The oldest are forgotten first. */
const MAX_REMEMBERED_IDS = 4_096;
/**
 * Attribute with the id of a log line. An SDK writes it both to the worker's output and to the telemetry frame, so that
 * the entry is stored once.
 */
const LOG_ID = "svc.log.id";

/** Called for each stored entry. It must not block or throw. */
export type LogListener = (entry: StoredLog) => void;

/** Receives all log entries. Limits their size, drops duplicates, assigns ids, and calls the listeners. */
export class LogIntake implements LogSink {
  readonly #listeners: readonly LogListener[];
  readonly #remembered = new RecentIds(MAX_REMEMBERED_IDS);
  readonly #node: string | undefined;
  #samplingRatio: number;
  #nextId: number;

  /** `firstId` must be greater than all earlier ids. */
  constructor(options: {
    readonly firstId: number;
    readonly samplingRatio: number;
    /** Name of this node of the cluster; undefined if the engine is in no cluster. */
    readonly node?: string | undefined;
    readonly listeners: readonly LogListener[];
  }) {
    this.#nextId = options.firstId;
    this.#samplingRatio = options.samplingRatio;
    this.#listeners = options.listeners;
    this.#node = options.node;
  }

  setSamplingRatio(ratio: number): void {
    this.#samplingRatio = ratio;
  }

  /** Adds an entry. Returns false if it is a duplicate. */
  add(log: LogRecord): boolean {
    if (this.#isDuplicate(log)) return false;
    if (!this.#isSampled(log)) return true;
    const entry: StoredLog = { id: this.#nextId++, log: boundRecord(this.#named(log)) };
    for (const listener of this.#listeners) listener(entry);
    return true;
  }

  #named(log: LogRecord): LogRecord {
    if (this.#node === undefined) return log;
    const { resource } = log;
    return { ...log, resource: { ...resource, attributes: { ...resource.attributes, [NODE_ATTRIBUTE]: this.#node } } };
  }

  /**
   * Compares only the ids, because the worker's name differs: the output line has the name from the config, the frame
   * the worker's own name.
   */
  #isDuplicate({ attributes }: LogRecord): boolean {
    const id = attributes[LOG_ID];
    if (typeof id !== "string" || id.length > 64) return false;
    if (this.#remembered.has(id)) return true;
    this.#remembered.add(id);
    return false;
  }

  /** Decides by the trace id, so that all entries of a trace are sampled or none. */
  #isSampled({ traceId }: LogRecord): boolean {
    if (this.#samplingRatio >= 1) return true;
    const share = traceId === undefined ? Math.random() : Number.parseInt(traceId.slice(-8), 16) / 0x1_0000_0000;
    return share < this.#samplingRatio;
  }
}
