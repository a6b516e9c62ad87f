import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";

/** Version of the cursor format; also distinguishes a cursor from other text. */
const CURSOR_VERSION = "o1";
const CIPHER = "aes-256-gcm";
/** Sealed cursors are valid until the engine ends. */
const KEY = randomBytes(32);
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** A sealed cursor does not show how long its parts are. */
const SEALED_LENGTH = 4_096;

/** An opaque cursor as clients send it. */
export const cursorSchema = z.string().min(1).max(16_384);

type Parts = readonly (string | number | null)[];

/** `kind` prevents use of a cursor with another function. The parts must be JSON. */
export function writeCursor(kind: string, parts: Parts): string {
  return textOf(kind, parts).toString("base64url");
}

/** Throws `invalid_input` if `cursor` was not written by `writeCursor` for this kind. */
export function readCursor<Read extends readonly unknown[]>(
  kind: string,
  cursor: string,
  parts: z.ZodType<Read>,
): Read {
  return partsOf(kind, Buffer.from(cursor, "base64url"), parts);
}

/** As `writeCursor`, for a client that must not learn the position: it may be that of data hidden from the client. */
export function sealCursor(kind: string, parts: Parts): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, KEY, nonce);
  const text = textOf(kind, parts);
  const padding = Buffer.alloc(Math.max(0, SEALED_LENGTH - text.length), " ");
  const sealed = Buffer.concat([cipher.update(text), cipher.update(padding), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
}

/** Throws `invalid_input` if `cursor` was not written by `sealCursor` of this process for this kind. */
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

/** Returns an empty buffer if it was not sealed with the key. */
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
