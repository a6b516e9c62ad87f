import type { Request } from "../thread-messages.ts";
import { fromJson } from "./entry-json.ts";

/**
 * Version of the format of entries and of the procedures that they name. A replica stops at an entry of a newer version,
 * because its content would differ from then on. 2: the queue's `addAndTake`.
 */
export const ENTRY_VERSION = 2;

/** The first line of an entry, as JSON. The rest is the JSON of its requests, or a part of it. */
export interface EntryHeader {
  readonly v: number;
  /** Run that wrote the entry. */
  readonly run: string;
  /** Number of the entry among those of its run, from 1 on, without gaps. */
  readonly n: number;
  /** Log time and wall clock of the run. */
  readonly now: number;
  readonly wall: number;
  /**
   * `join` for the first entry of a run. `part` if more parts of the same requests follow. `start` for the first entry of a
   * log that begins with a snapshot: no replica can apply it.
   */
  readonly kind: "requests" | "join" | "part" | "start";
}

/** First entry of a log that begins with a snapshot. Engines that do not know its kind stop at its version. */
export const START_ENTRY: { readonly id: string; readonly header: EntryHeader } = {
  id: "start/1",
  header: { v: 1_000_000, run: "start", n: 1, now: 0, wall: 0, kind: "start" },
};

const NEWLINE = 10;

export function entryId({ run, n }: Pick<EntryHeader, "run" | "n">): string {
  return `${run}/${n}`;
}

export function encodeEntry(header: EntryHeader, body: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]);
}

export function decodeEntry(bytes: Uint8Array): { readonly header: EntryHeader; readonly body: Uint8Array } {
  const end = bytes.indexOf(NEWLINE);
  // The log contains only what an engine appended.
  const header = JSON.parse(Buffer.from(bytes.subarray(0, end)).toString()) as EntryHeader;
  return { header, body: bytes.subarray(end + 1) };
}

export function decodeRequests(body: Uint8Array): readonly Request[] {
  return (fromJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()) as [string, unknown][]).map(
    ([procedure, input]) => ({ procedure, input }),
  );
}
