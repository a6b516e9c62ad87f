import { CallError, MAX_FRAME_BYTES, type WireError } from "@svc-runtime/protocol/client";

// Frames that an SDK sends. The envelope comes first and the payload last (feature `payload_last`). So the engine can
// read the envelope and forward the payload without parsing it.

export interface CallFrameFields {
  /** Undefined if the caller wants no result. */
  readonly invocationId?: string | undefined;
  readonly functionId: string;
  /** Payload as JSON text. */
  readonly payload: string;
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
  readonly action?: { readonly type: "void" } | { readonly type: "enqueue"; readonly queue: string } | undefined;
  /** Metadata as JSON text. */
  readonly metadata?: string | undefined;
  readonly timeoutMs?: number | undefined;
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

/**
 * Returns the error as JSON text. The handler provides the details of its error. If they cannot be represented in JSON,
 * they are omitted.
 */
function errorText(error: WireError): string {
  try {
    return JSON.stringify(error);
  } catch {
    return JSON.stringify({ code: error.code, message: error.message, stacktrace: error.stacktrace });
  }
}

/** Encodes the result of binding a trigger. The provider of the trigger type sends it. */
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
 * Returns an error if the frame is over the size limit, otherwise undefined. Without this check, the engine would close
 * the connection because of the frame.
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
