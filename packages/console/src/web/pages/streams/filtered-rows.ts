import type { MonitorRow } from "./message.ts";
import type { MessageTest } from "./message-filter.ts";
import type { MessageLog } from "./message-log.ts";

export interface ShownRows {
  /** Newest first. */
  readonly rows: readonly MonitorRow[];
  readonly inbound: number;
  readonly outbound: number;
  /** Messages that are kept and that the filter does not let through. */
  readonly hidden: number;
}

/** The rows of a log that a filter lets through. Only what is new is judged, so that a full log costs no more than an empty one. */
export class FilteredRows {
  readonly #log: Pick<MessageLog, "since" | "firstSeq" | "lastSeq">;
  readonly #test: MessageTest;
  #matching: MonitorRow[] = [];
  readonly #counts = { inbound: 0, outbound: 0 };
  /** Numbers of the rows that it does not let through. */
  #hidden: number[] = [];
  #judgedTo: number;

  /** `afterSeq`: rows up to it are hidden. */
  constructor(log: Pick<MessageLog, "since" | "firstSeq" | "lastSeq">, test: MessageTest, afterSeq: number) {
    this.#log = log;
    this.#test = test;
    this.#judgedTo = afterSeq;
  }

  read(direction: "inbound" | "outbound" | undefined): ShownRows {
    for (const row of this.#log.since(this.#judgedTo)) {
      if (row.kind === "marker" || this.#test(row)) this.#add(row, 1);
      else this.#hidden.push(row.seq);
    }
    this.#judgedTo = Math.max(this.#judgedTo, this.#log.lastSeq);
    this.#dropGone();
    const newestFirst = this.#matching.toReversed();
    const rows = direction === undefined ? newestFirst : newestFirst.filter((row) => row.kind === "marker" || row.direction === direction);
    return { rows, ...this.#counts, hidden: this.#hidden.length };
  }

  #add(row: MonitorRow, by: 1 | -1): void {
    if (by === 1) this.#matching.push(row);
    if (row.kind === "message") this.#counts[row.direction] += by;
  }

  /** Takes away what the log no longer keeps: the oldest, which come first. */
  #dropGone(): void {
    const { firstSeq } = this.#log;
    let gone = 0;
    for (let row = this.#matching[0]; row !== undefined && row.seq < firstSeq; row = this.#matching[gone]) {
      this.#add(row, -1);
      gone++;
    }
    if (gone > 0) this.#matching = this.#matching.slice(gone);
    const kept = this.#hidden.findIndex((seq) => seq >= firstSeq);
    if (kept !== 0) this.#hidden = kept < 0 ? [] : this.#hidden.slice(kept);
  }
}
