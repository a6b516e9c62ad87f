import { CallError } from "@svc/protocol";
import { z } from "zod";

/** Tells a cursor from other text, and a later form of cursor from this one. */
const OPENING = "o1";

/** As they are sent: opaque to whoever asks. */
export const cursorSchema = z.string().min(1).max(2_048);

/** `kind` keeps the cursor of one function from another. The parts are JSON. */
export function writeCursor(kind: string, parts: readonly (string | number | null)[]): string {
  return Buffer.from(JSON.stringify([OPENING, kind, ...parts])).toString("base64url");
}

/** Throws `invalid_input` for what `writeCursor` did not write for this kind. */
export function readCursor<Parts extends readonly unknown[]>(kind: string, cursor: string, parts: z.ZodType<Parts>): Parts {
  const [opening, of, ...rest] = listIn(Buffer.from(cursor, "base64url").toString());
  const parsed = opening === OPENING && of === kind ? parts.safeParse(rest) : undefined;
  if (parsed?.success === true) return parsed.data;
  throw new CallError("invalid_input", "`cursor`: is not a cursor of this function; send the one that the page before answered, or none for the first page");
}

function listIn(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
