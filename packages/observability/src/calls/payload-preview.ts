import type { Payload } from "@svc-runtime/protocol";

const MAX_KEPT = 64 * 1024;
/** Longer texts are copied, because a slice would keep the whole frame in memory. */
export const COPY_ABOVE = 2_048;

/**
 * Returns a copy of the beginning of a payload; an empty string if there is no payload. A copy does not keep the frame
 * in memory.
 */
export function beginningOf(payload: Payload): string {
  const bytes = payload.rawBytes;
  if (bytes !== undefined)
    return withoutHalf(
      Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, MAX_KEPT)).toString("utf8"),
    );
  const text = payload.text();
  return text.length <= COPY_ABOVE ? text : cutText(text, MAX_KEPT);
}

export function isLong(payload: Payload): boolean {
  return (payload.rawBytes?.byteLength ?? payload.text().length) > MAX_KEPT;
}

/** Returns the exact size. It does not convert the payload to bytes, because the payload would cache them. */
export function bytesOf(payload: Payload): number {
  return payload.rawBytes?.byteLength ?? Buffer.byteLength(payload.text());
}

/** Returns a copy of the first `limit` characters, or fewer if that would split a surrogate pair. */
export function cutText(text: string, limit: number): string {
  return withoutHalf(Buffer.from(text.slice(0, limit), "utf16le").toString("utf16le"));
}

/** Removes a half character from the end, which remains if the cut split a surrogate pair or a UTF-8 sequence. */
function withoutHalf(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last === 0xfffd || (last >= 0xd800 && last <= 0xdbff) ? text.slice(0, -1) : text;
}
