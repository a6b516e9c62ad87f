import { CallError, Payload } from "@svc-runtime/protocol";
import { wireErrorSchema } from "@svc-runtime/protocol/nodes";

/** Payloads up to this many bytes are copied, so that a small payload does not keep its whole message in memory. */
const COPY_BYTES = 64 * 1024;

/** Returns the payload of a frame, or undefined if it has none. */
export function payloadOf(bytes: Uint8Array): Payload | undefined {
  if (bytes.length === 0) return undefined;
  return Payload.fromBytes(bytes.length <= COPY_BYTES ? bytes.slice() : bytes);
}

export function bytesOfError(error: CallError): Uint8Array {
  return Payload.fromValue(error.toWire()).bytes();
}

/** Decodes an error. Throws an Error if the bytes are not a valid error. */
export function errorOf(bytes: Uint8Array): CallError {
  const parsed = wireErrorSchema.safeParse(jsonOf(bytes));
  if (!parsed.success) throw new Error("the error of an answer is malformed");
  return CallError.fromWire(parsed.data);
}

/** Returns undefined if the bytes are not JSON. */
export function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
  } catch {
    return undefined;
  }
}
