import { CallError } from "@svc-runtime/protocol";

/** A cursor is the last key of the previous page. This prefix identifies cursors of this version. */
const CURSOR_OPENING = "k1:";

export function cursorOfKey(key: string): string {
  return Buffer.from(CURSOR_OPENING + key).toString("base64url");
}

/** Returns the key of a cursor. Throws `invalid_input` for other strings. */
export function keyOfCursor(cursor: string): string {
  const text = Buffer.from(cursor, "base64url").toString();
  if (text.startsWith(CURSOR_OPENING) && cursorOfKey(text.slice(CURSOR_OPENING.length)) === cursor)
    return text.slice(CURSOR_OPENING.length);
  throw new CallError(
    "invalid_input",
    "`cursor`: is not a valid cursor; send the cursor of the previous page, or none for the first page",
  );
}
