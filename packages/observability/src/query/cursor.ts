import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";

/** Version of the cursor format. It also helps to recognize a text that is not a cursor. */
const CURSOR_VERSION = "o1";
const CIPHER = "aes-256-gcm";
/** Key of sealed cursors. It is new in each run of the engine, so sealed cursors are valid until the engine ends. */
const KEY = randomBytes(32);
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Sealed cursors are padded to this length, so that their length does not reveal their parts. */
const SEALED_LENGTH = 4_096;

/** A cursor as clients send it. Its content is opaque to them. */
export const cursorSchema = z.string().min(1).max(16_384);

type Parts = readonly (string | number | null)[];

/** Returns a cursor. `kind` prevents that a cursor is used with another function. The parts must be JSON values. */
export function writeCursor(kind: string, parts: Parts): string {
  return textOf(kind, parts).toString("base64url");
}

/** Returns the parts of a cursor. Throws `invalid_input` if `writeCursor` did not write it for this kind. */
export function readCursor<Read extends readonly unknown[]>(
  kind: string,
  cursor: string,
  parts: z.ZodType<Read>,
): Read {
  return partsOf(kind, Buffer.from(cursor, "base64url"), parts);
}

/**
 * Like `writeCursor`, but encrypts the parts. It is for clients that must not learn the position, because the position
 * may be that of data that is hidden from them.
 */
export function sealCursor(kind: string, parts: Parts): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, KEY, nonce);
  const text = textOf(kind, parts);
  const padding = Buffer.alloc(Math.max(0, SEALED_LENGTH - text.length), " ");
  const sealed = Buffer.concat([cipher.update(text), cipher.update(padding), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
}

/**
 * Returns the parts of a sealed cursor. Throws `invalid_input` if `sealCursor` did not write it in this process for
 * this kind.
 */
export function openCursor<Read extends readonly unknown[]>(
  kind: string,
  cursor: string,
  parts: z.ZodType<Read>,
): Read {
  return partsOf(kind, unsealed(Buffer.from(cursor, "base64url")), parts);
}

function textOf(kind: string, parts: Parts): Buffer {
  return Buffer.from(JSON.stringify([CURSOR_VERSION, kind, ...parts]));
}

function partsOf<Read extends readonly unknown[]>(kind: string, text: Buffer, parts: z.ZodType<Read>): Read {
  const [opening, of, ...rest] = listIn(text.toString());
  const parsed = opening === CURSOR_VERSION && of === kind ? parts.safeParse(rest) : undefined;
  if (parsed?.success === true) return parsed.data;
  throw new CallError(
    "invalid_input",
    "`cursor`: is not a cursor of this function; send the cursor of the previous page, or none for the first page",
  );
}

/** Decrypts a sealed cursor. Returns an empty buffer if it was not sealed with the key. */
function unsealed(bytes: Buffer): Buffer {
  const tagAt = NONCE_BYTES + TAG_BYTES;
  if (bytes.length < tagAt) return Buffer.alloc(0);
  const decipher = createDecipheriv(CIPHER, KEY, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, tagAt));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(tagAt)), decipher.final()]);
  } catch {
    return Buffer.alloc(0);
  }
}

function listIn(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
