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
  /** `join` for the first entry of a run. `part` if more parts of the same requests follow. */
  readonly kind: "requests" | "join" | "part";
}

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
