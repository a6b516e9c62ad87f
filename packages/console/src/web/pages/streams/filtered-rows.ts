import type { MonitorRow } from "./message.ts";
import type { MessageTest } from "./message-filter.ts";
import type { MessageLog } from "./message-log.ts";

export interface ShownRows {
  /** Rows, the newest first. */
  readonly rows: readonly MonitorRow[];
  readonly inbound: number;
  readonly outbound: number;
  /** Number of messages in the log that do not match the filter. */
  readonly hidden: number;
}

/**
 * The rows of a log that match a filter. Each read tests only new rows, so that a read does not get slower when the log
 * grows.
 */
export class FilteredRows {
  readonly #log: Pick<MessageLog, "since" | "firstSeq" | "lastSeq">;
  readonly #test: MessageTest;
  #matching: MonitorRow[] = [];
  readonly #counts = { inbound: 0, outbound: 0 };
  /** Sequence numbers of the rows that do not match. */
  #hidden: number[] = [];
  #testedTo: number;

  /** Rows with sequence numbers up to `afterSeq` are ignored. */
  constructor(log: Pick<MessageLog, "since" | "firstSeq" | "lastSeq">, test: MessageTest, afterSeq: number) {
    this.#log = log;
    this.#test = test;
    this.#testedTo = afterSeq;
  }

  read(direction: "inbound" | "outbound" | undefined): ShownRows {
    for (const row of this.#log.since(this.#testedTo)) {
      if (row.kind === "marker" || this.#test(row)) this.#add(row, 1);
      else this.#hidden.push(row.seq);
    }
    this.#testedTo = Math.max(this.#testedTo, this.#log.lastSeq);
    this.#dropEvicted();
    const newestFirst = this.#matching.toReversed();
    const rows =
      direction === undefined
        ? newestFirst
        : newestFirst.filter((row) => row.kind === "marker" || row.direction === direction);
    return { rows, ...this.#counts, hidden: this.#hidden.length };
  }

  #add(row: MonitorRow, by: 1 | -1): void {
    if (by === 1) this.#matching.push(row);
    if (row.kind === "message") this.#counts[row.direction] += by;
  }

  /** Removes the rows that the log has evicted. These are the oldest rows, so they come first. */
  #dropEvicted(): void {
    const { firstSeq } = this.#log;
    let evicted = 0;
    for (let row = this.#matching[0]; row !== undefined && row.seq < firstSeq; row = this.#matching[evicted]) {
      this.#add(row, -1);
      evicted++;
    }
    if (evicted > 0) this.#matching = this.#matching.slice(evicted);
    const kept = this.#hidden.findIndex((seq) => seq >= firstSeq);
    if (kept !== 0) this.#hidden = kept < 0 ? [] : this.#hidden.slice(kept);
  }
}
