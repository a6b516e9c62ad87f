import { CallError } from "@svc/protocol";

/** A cursor is the last key of the page before. What opens it tells a cursor from other text, and a later form of cursor from this one. */
const CURSOR_OPENING = "k1:";

export function cursorOfKey(key: string): string {
  return Buffer.from(CURSOR_OPENING + key).toString("base64url");
}

/** Throws `invalid_input` for what is no cursor of ours. */
export function keyOfCursor(cursor: string): string {
  const text = Buffer.from(cursor, "base64url").toString();
  if (text.startsWith(CURSOR_OPENING) && cursorOfKey(text.slice(CURSOR_OPENING.length)) === cursor) return text.slice(CURSOR_OPENING.length);
  throw new CallError("invalid_input", "`cursor`: is not a cursor; send the one that the page before answered, or none for the first page");
}
