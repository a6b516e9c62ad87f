import type { Request } from "../thread-messages.ts";
import { fromJson } from "./entry-json.ts";

/**
 * Version of the format of entries and of the procedures that entries name. A replica stops at an entry of a newer
 * version, because it would apply the entry differently than newer replicas. Version 2 added the queue's `addAndTake`.
 */
export const ENTRY_VERSION = 2;

/** The first line of an entry, as JSON. The following bytes are the requests as JSON, or a part of that JSON. */
export interface EntryHeader {
  readonly v: number;
  /** Run that wrote the entry. */
  readonly run: string;
  /** Number of the entry among the entries of its run. It starts at 1 and has no gaps. */
  readonly n: number;
  /** Log time and wall clock of the run. */
  readonly now: number;
  readonly wall: number;
  /**
   * `requests`: the entry has requests. `join`: the first entry of a run. `part`: the entry has only a part of its
   * requests, and the next entries of the run have the rest. `start`: the first entry of a log that begins with a
   * snapshot; no replica can apply it.
   */
  readonly kind: "requests" | "join" | "part" | "start";
}

/**
 * First entry of a log that begins with a snapshot. Engines that do not know the kind `start` stop at this entry too,
 * because of its high version.
 */
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
  // The cast is safe, because only engines append to the log.
  const header = JSON.parse(Buffer.from(bytes.subarray(0, end)).toString()) as EntryHeader;
  return { header, body: bytes.subarray(end + 1) };
}

export function decodeRequests(body: Uint8Array): readonly Request[] {
  return (fromJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()) as [string, unknown][]).map(
    ([procedure, input]) => ({ procedure, input }),
  );
}
