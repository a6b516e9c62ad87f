import { CallError, isUuid, MAX_FRAME_BYTES, type WireError } from "@svc-runtime/protocol/client";

// Frames of an SDK: the envelope comes first and the payload last (feature `payload_last`), so that the engine can read
// the envelope and forward the payload without parsing it.

export interface CallFrameFields {
  /** Absent if the caller wants no answer. */
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

export function encodeFailure(invocationId: string, functionId: string, error: WireError): string {
  return `{"type":"invocationresult","invocation_id":"${invocationId}","function_id":${JSON.stringify(functionId)},"error":${errorText(error)}}`;
}

/** A handler provides the details of its error. If JSON cannot represent them, the error is sent without them. */
function errorText(error: WireError): string {
  try {
    return JSON.stringify(error);
  } catch {
    return JSON.stringify({ code: error.code, message: error.message, stacktrace: error.stacktrace });
  }
}

/** Encodes the provider's answer to a binding. */
export function encodeBindingResult(
  {
    id,
    trigger_type,
    function_id,
  }: { readonly id: string; readonly trigger_type: string; readonly function_id: string },
  error: WireError | undefined,
): string {
  return JSON.stringify({ type: "triggerregistrationresult", id, trigger_type, function_id, error });
}

const encoder = new TextEncoder();

/**
 * Returns the error for a frame over the size limit, or undefined. The engine would close the connection for such a
 * frame.
 */
export function oversizeError(frame: string, what: string): CallError | undefined {
  // A string of n UTF-16 units has n to 3n bytes in UTF-8, so only long frames are measured.
  if (frame.length * 3 <= MAX_FRAME_BYTES) return undefined;
  const bytes = frame.length > MAX_FRAME_BYTES ? frame.length : encoder.encode(frame).length;
  if (bytes <= MAX_FRAME_BYTES) return undefined;
  return new CallError(
    "payload_too_large",
    `${what} makes a frame over ${MAX_FRAME_BYTES} bytes; send it in parts or send a reference to it`,
    {
      details: { limit_bytes: MAX_FRAME_BYTES },
    },
  );
}

/** The call that a malformed frame belongs to. */
export interface MalformedFrame {
  readonly type: "invokefunction" | "invocationresult";
  readonly invocationId: string;
  readonly functionId: string;
}

const TAILS = ['"type":"invokefunction","invocation_id":"', '"type":"invocationresult","invocation_id":"'] as const;
/** Maximum number of positions tried in a malformed frame. */
const MAX_TAIL_TRIES = 16;

/**
 * Reads which call a malformed frame belongs to. The engine writes the envelope after a payload that it has not parsed,
 * so the end of the frame is valid JSON even if the payload is not. The payload or the metadata may contain text that
 * looks like this end. In metadata it leaves one closing brace too many, and in the payload the later members override
 * it.
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
