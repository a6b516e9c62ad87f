import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";

/** Version of the cursor format; also distinguishes a cursor from other text. */
const CURSOR_VERSION = "o1";

/** An opaque cursor as clients send it. */
export const cursorSchema = z.string().min(1).max(16_384);

/** `kind` prevents use of a cursor with another function. The parts must be JSON. */
export function writeCursor(kind: string, parts: readonly (string | number | null)[]): string {
  return Buffer.from(JSON.stringify([CURSOR_VERSION, kind, ...parts])).toString("base64url");
}

/** Throws `invalid_input` if `cursor` was not written by `writeCursor` for this kind. */
export function readCursor<Parts extends readonly unknown[]>(
  kind: string,
  cursor: string,
  parts: z.ZodType<Parts>,
): Parts {
  const [opening, of, ...rest] = listIn(Buffer.from(cursor, "base64url").toString());
  const parsed = opening === CURSOR_VERSION && of === kind ? parts.safeParse(rest) : undefined;
  if (parsed?.success === true) return parsed.data;
  throw new CallError(
    "invalid_input",
    "`cursor`: is not a cursor of this function; send the cursor of the previous page, or none for the first page",
  );
}

function listIn(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
