import type { Payload } from "@svc/protocol";

/** Most that is kept of one payload, in characters. */
const MAX_KEPT = 64 * 1024;
/** Longer texts are copied rather than held: a slice of a frame keeps the whole frame. */
export const COPY_ABOVE = 2_048;

/** The beginning of a payload, without what it came in. Nothing for a payload that says that there was none. */
export function beginningOf(payload: Payload): string {
  const bytes = payload.rawBytes;
  if (bytes !== undefined) return withoutHalf(Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, MAX_KEPT)).toString("utf8"));
  const text = payload.text();
  return text.length <= COPY_ABOVE ? text : cutText(text, MAX_KEPT);
}

/** Whether `beginningOf` leaves something out. */
export function isLong(payload: Payload): boolean {
  return (payload.rawBytes?.byteLength ?? payload.text().length) > MAX_KEPT;
}

/** Exact, without making bytes of it that the payload would keep. */
export function bytesOf(payload: Payload): number {
  return payload.rawBytes?.byteLength ?? Buffer.byteLength(payload.text());
}

/** A copy of the first `limit` characters, or fewer where that would part a pair. */
export function cutText(text: string, limit: number): string {
  return withoutHalf(Buffer.from(text.slice(0, limit), "utf16le").toString("utf16le"));
}

/** Without half a character at its end, that the cut has left. */
function withoutHalf(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last === 0xfffd || (last >= 0xd800 && last <= 0xdbff) ? text.slice(0, -1) : text;
}
