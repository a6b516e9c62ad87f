import { CallError } from "@svc-runtime/protocol/client";
import { encodeCall, oversizeError } from "../connection/frames.ts";
import { jsonTextOf } from "../connection/json-text.ts";
import { JsonPayload } from "./json-call.ts";
import { MAX_QUEUED_CALLS } from "./pending-calls.ts";

/** A call that this worker makes. */
export interface OutboundCall {
  readonly action?: { readonly type: "void" } | { readonly type: "enqueue"; readonly queue: string } | undefined;
  readonly functionId: string;
  /** A JSON value, or a JsonPayload. With a JsonPayload, the call resolves to the frame that contains the result. */
  readonly payload?: unknown;
  readonly metadata?: unknown;
  /** Deadline that the caller gave. If absent, the worker's options decide. */
  readonly timeoutMs?: number | undefined;
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
}

/**
 * Encodes the call as a frame.
 *
 * @throws CallError `invalid_input` if JSON cannot represent the call, `payload_too_large` if the frame is too large.
 */
export function encodeOutbound(
  call: OutboundCall,
  invocationId: string | undefined,
  timeoutMs: number | undefined,
): string {
  const frame = encodeCall({
    ...call,
    invocationId,
    payload: jsonText(call.payload, call.functionId, "payload"),
    metadata: call.metadata === undefined ? undefined : jsonText(call.metadata, call.functionId, "metadata"),
    timeoutMs,
  });
  const tooLarge = oversizeError(frame, `the payload for function ${call.functionId}`);
  if (tooLarge !== undefined) throw tooLarge;
  return frame;
}

function jsonText(value: unknown, functionId: string, what: "payload" | "metadata"): string {
  if (value === undefined) return "null";
  if (value instanceof JsonPayload) return value.text;
  const invalid = (reason: string, cause?: unknown): CallError =>
    new CallError("invalid_input", `the ${what} for function ${functionId} cannot be written as JSON: ${reason}`, {
      cause,
    });
  let text: string | undefined;
  try {
    text = jsonTextOf(value);
  } catch (cause) {
    throw invalid((cause as Error).message, cause);
  }
  if (text === undefined) throw invalid(`it is a ${typeof value}`);
  return text;
}

export function queueFull(functionId: string): CallError {
  const message = `${MAX_QUEUED_CALLS} calls already wait to be sent; function ${functionId} was not called`;
  return new CallError("disconnected", message, {
    details: { function_id: functionId, max_queued_calls: MAX_QUEUED_CALLS, executed: "no" },
  });
}
