import type { MonitorRow } from "./message.ts";
import type { MessageTest } from "./message-filter.ts";
import type { MessageLog } from "./message-log.ts";

export interface ShownRows {
  /** Newest first. */
  readonly rows: readonly MonitorRow[];
  readonly inbound: number;
  readonly outbound: number;
}

/** The rows of a log that a filter lets through. Only what is new is judged, so that a full log costs no more than an empty one. */
export class FilteredRows {
  readonly #log: Pick<MessageLog, "since" | "firstSeq" | "lastSeq">;
  readonly #test: MessageTest;
  #matching: MonitorRow[] = [];
  #judgedTo: number;

  /** `afterSeq`: rows up to it are hidden. */
  constructor(log: Pick<MessageLog, "since" | "firstSeq" | "lastSeq">, test: MessageTest, afterSeq: number) {
    this.#log = log;
    this.#test = test;
    this.#judgedTo = afterSeq;
  }

  read(direction: "inbound" | "outbound" | undefined): ShownRows {
    for (const row of this.#log.since(this.#judgedTo)) if (row.kind === "marker" || this.#test(row)) this.#matching.push(row);
    this.#judgedTo = Math.max(this.#judgedTo, this.#log.lastSeq);
    const { firstSeq } = this.#log;
    if ((this.#matching[0]?.seq ?? firstSeq) < firstSeq) this.#matching = this.#matching.filter(({ seq }) => seq >= firstSeq);
    let inbound = 0;
    let outbound = 0;
    const rows: MonitorRow[] = [];
    for (let at = this.#matching.length - 1; at >= 0; at--) {
      const row = this.#matching[at] as MonitorRow;
      if (row.kind === "message") {
        if (row.direction === "inbound") inbound++;
        else outbound++;
        if (direction !== undefined && row.direction !== direction) continue;
      }
      rows.push(row);
    }
    return { rows, inbound, outbound };
  }
}
