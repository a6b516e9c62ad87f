import { isUuid } from "@svc-runtime/protocol/client";

/** The call to which a malformed frame belongs. */
export interface MalformedFrame {
  readonly type: "invokefunction" | "invocationresult";
  readonly invocationId: string;
  readonly functionId: string;
}

const TAILS = ['"type":"invokefunction","invocation_id":"', '"type":"invocationresult","invocation_id":"'] as const;
/** Maximum number of positions in a malformed frame that are tried. */
const MAX_TAIL_TRIES = 16;

/**
 * Returns the call to which a malformed frame belongs. The engine writes the envelope after a payload that it has not
 * parsed. So the end of the frame is valid JSON even if the payload is not. The payload or the metadata may contain
 * text that looks like this end. In metadata, such text has one closing brace too many; in the payload, the later
 * members override it.
 */
export function readMalformedFrame(text: string): MalformedFrame | undefined {
  let end = text.length;
  for (let tries = 0; tries < MAX_TAIL_TRIES; tries++) {
    const at = Math.max(...TAILS.map((tail) => (end > 0 ? text.lastIndexOf(tail, end - 1) : -1)));
    if (at === -1) return undefined;
    const found = readTail(`{${text.slice(at)}`);
    if (found !== undefined) return found;
    end = at;
  }
  return undefined;
}

function readTail(text: string): MalformedFrame | undefined {
  let tail: unknown;
  try {
    tail = JSON.parse(text);
  } catch {
    return undefined;
  }
  const members = tail as Readonly<Record<string, unknown>>;
  const { type, invocation_id: invocationId, function_id: functionId } = members;
  if (type !== "invokefunction" && type !== "invocationresult") return undefined;
  if (typeof invocationId !== "string" || !isUuid(invocationId) || typeof functionId !== "string") return undefined;
  return { type, invocationId, functionId };
}
