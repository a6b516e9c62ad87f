import { CallError, isUuid, MAX_FRAME_BYTES, type WireError } from "@svc/protocol";

// Frames of an SDK: the envelope first and the payload last (feature `payload_last`), so that the engine can read the envelope
// and pass the payload on without looking for its end.

export interface CallFrameFields {
  /** Absent: no answer is wanted. */
  readonly invocationId: string | undefined;
  readonly functionId: string;
  /** JSON text. */
  readonly payload: string;
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  readonly action: { readonly type: "void" } | { readonly type: "enqueue"; readonly queue: string } | undefined;
  /** JSON text. */
  readonly metadata: string | undefined;
  readonly timeoutMs: number | undefined;
}

export function encodeCall(fields: CallFrameFields): string {
  let frame = '{"type":"invokefunction"';
  if (fields.invocationId !== undefined) frame += `,"invocation_id":"${fields.invocationId}"`;
  frame += `,"function_id":${JSON.stringify(fields.functionId)}`;
  if (fields.traceparent !== undefined) frame += `,"traceparent":${JSON.stringify(fields.traceparent)}`;
  if (fields.baggage !== undefined) frame += `,"baggage":${JSON.stringify(fields.baggage)}`;
  if (fields.action !== undefined) frame += `,"action":${JSON.stringify(fields.action)}`;
  if (fields.metadata !== undefined) frame += `,"metadata":${fields.metadata}`;
  if (fields.timeoutMs !== undefined) frame += `,"timeout_ms":${fields.timeoutMs}`;
  return `${frame},"data":${fields.payload}}`;
}

/** `result` is JSON text; undefined writes neither result nor error. */
export function encodeResult(invocationId: string, functionId: string, result: string | undefined): string {
  const head = `{"type":"invocationresult","invocation_id":"${invocationId}","function_id":${JSON.stringify(functionId)}`;
  return result === undefined ? `${head}}` : `${head},"result":${result}}`;
}

export function encodeFailure(invocationId: string, functionId: string, error: WireError): string {
  return `{"type":"invocationresult","invocation_id":"${invocationId}","function_id":${JSON.stringify(functionId)},"error":${errorText(error)}}`;
}

/** An error's details are a handler's own; when JSON cannot hold them the error travels without. */
function errorText(error: WireError): string {
  try {
    return JSON.stringify(error);
  } catch {
    return JSON.stringify({ code: error.code, message: error.message, stacktrace: error.stacktrace });
  }
}

const encoder = new TextEncoder();

/** Why a frame may not be written, or undefined. The engine would close the connection over it. */
export function oversize(frame: string, what: string): CallError | undefined {
  // A string of n UTF-16 units has n to 3n bytes, so only frames near the limit are measured.
  if (frame.length * 3 <= MAX_FRAME_BYTES) return undefined;
  const bytes = frame.length > MAX_FRAME_BYTES ? frame.length : encoder.encode(frame).length;
  if (bytes <= MAX_FRAME_BYTES) return undefined;
  return new CallError("payload_too_large", `${what} makes a frame over ${MAX_FRAME_BYTES} bytes; send it in parts or send a reference to it`, {
    details: { limit_bytes: MAX_FRAME_BYTES },
  });
}

/** Which call a frame that is not JSON belongs to. */
export interface BrokenFrame {
  readonly type: "invokefunction" | "invocationresult";
  readonly invocationId: string;
  readonly functionId: string;
}

const TAILS = ['"type":"invokefunction","invocation_id":"', '"type":"invocationresult","invocation_id":"'] as const;
/** How many places of a broken frame are tried before it is given up. */
const MAX_TAIL_TRIES = 16;

/**
 * Reads which call a broken frame belongs to. The engine writes the envelope behind a payload that it has not read, so the
 * frame's tail is JSON although the payload is not. Inside the payload or the metadata something may look like that tail:
 * metadata would leave a closing brace too many, and what stands in the payload is overridden by the members behind it.
 */
export function readBrokenFrame(text: string): BrokenFrame | undefined {
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

function readTail(text: string): BrokenFrame | undefined {
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
