import {
  CallError,
  encodeGuardedInvoke,
  encodeGuardedResult,
  encodePublishedInvoke,
  encodePublishedResult,
  type Feature,
  type Frame,
  type FunctionId,
  frameBytes,
  type InvocationId,
  MAX_FRAME_BYTES,
  type Payload,
  PUBLISHED_PYTHON_MAX_FRAME_BYTES,
} from "@svc-runtime/protocol";
import type { Call, Outcome } from "./call.ts";
import { metadataWithJob } from "./call-metadata.ts";

/** A frame that was accepted may grow by this much when it is sent on, because the message has other members then. */
const FRAME_MARGIN_BYTES = 64 * 1024;
/**
 * Results up to this size are sent even to a caller whose queue is full, in bytes. This is safe because their number is
 * limited by the caller's limit of calls in flight.
 */
const SMALL_ANSWER_BYTES = 4 * 1024;

/** The worker that receives the frame. */
interface Recipient {
  readonly features: ReadonlySet<Feature>;
  readonly introduction: { readonly runtime: string } | undefined;
  /** The worker's own names of functions, if it is restricted. */
  readonly access: { localFunctionId(id: FunctionId): FunctionId } | undefined;
}

interface Answer {
  readonly invocationId: InvocationId;
  readonly functionId: string;
  readonly outcome: Outcome;
  /** True if the call had a trace context. */
  readonly isTraced: boolean;
}

interface WireError {
  readonly code: string;
  readonly message: string;
  readonly stacktrace: string | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Returns the frame with the result, or a small frame with an error that says why the result cannot be sent. `line` is
 * the send queue to the receiver.
 */
export function frameOfAnswer(answer: Answer, to: Recipient, line: { isOverfull(): boolean }): Frame {
  const { invocationId, functionId, outcome, isTraced } = answer;
  const guarded = to.features.has("tolerates_bad_frames");
  const fields = outcome.ok
    ? {
        invocationId,
        functionId,
        result: to.features.size === 0 && isNull(outcome.result) ? undefined : outcome.result,
        traceparent: isTraced || !guarded ? outcome.traceparent : undefined,
        baggage: outcome.baggage,
      }
    : { invocationId, functionId, error: wireError(outcome.error, to) };
  if (!guarded && outcome.ok && outcome.result !== undefined && !outcome.result.isJson()) {
    return refusalFrame(
      answer,
      new CallError("invalid_message", `the worker that runs ${functionId} answered with something that is not JSON`),
      to,
    );
  }
  const frame = guarded ? encodeGuardedResult(fields) : encodePublishedResult(fields);
  const size = frameBytes(frame);
  if (size > MAX_FRAME_BYTES + FRAME_MARGIN_BYTES) {
    const problem = `the result of ${functionId} makes a frame of ${size} bytes; the limit is ${MAX_FRAME_BYTES}`;
    return refusalFrame(
      answer,
      new CallError("payload_too_large", problem, { details: { bytes: size, limit: MAX_FRAME_BYTES } }),
      to,
    );
  }
  // A caller that does not read its results must not fill the engine's memory with them.
  if (size > SMALL_ANSWER_BYTES && line.isOverfull()) {
    return refusalFrame(
      answer,
      new CallError("overloaded", `the answer of ${functionId} was dropped: this connection does not read its socket`),
      to,
    );
  }
  const problem = tooLarge(frame, `the result of ${functionId}`, to);
  return problem === undefined ? frame : refusalFrame(answer, problem, to);
}

/** Used to omit a `result` of null for published clients, because their users test for undefined. */
function isNull(result: Payload | undefined): boolean {
  return result?.isJson() === true && result.value() === null;
}

/**
 * Returns the frame with an error instead of the result. `details.executed` says that the function has run, because the
 * error code alone would permit the caller to repeat the call.
 */
function refusalFrame({ invocationId, functionId, outcome }: Answer, problem: CallError, to: Recipient): Frame {
  const executed = outcome.ok ? "yes" : outcome.error.executed;
  const error = new CallError(problem.code, problem.message, { details: { ...problem.details, executed } });
  const fields = { invocationId, functionId, error: wireError(error, to) };
  return to.features.has("tolerates_bad_frames") ? encodeGuardedResult(fields) : encodePublishedResult(fields);
}

/** Returns the call's frame for the worker that runs it, or why it cannot be sent. */
export function frameOfCall(call: Call, to: Recipient): Frame | CallError {
  const { id, payload, traceparent, baggage, metadata } = call;
  const { access, features } = to;
  const functionId = access === undefined ? call.functionId : access.localFunctionId(call.functionId);
  if (features.has("tolerates_bad_frames")) {
    return encodeGuardedInvoke({
      invocationId: id,
      functionId,
      data: payload,
      traceparent,
      baggage,
      metadata,
      timeoutMs: features.has("deadlines") ? call.effectiveTimeoutMs : undefined,
      caller: features.has("caller") ? call.caller : undefined,
      job: features.has("job") ? call.job : undefined,
    });
  }
  if (!payload.isJson()) return new CallError("invalid_message", "the payload is not JSON");
  const frame = encodePublishedInvoke({
    invocationId: id,
    functionId,
    data: payload,
    traceparent,
    baggage,
    metadata: metadataWithJob(metadata, call.job),
  });
  return tooLarge(frame, `the payload for ${functionId}`, to) ?? frame;
}

/** Returns an error if the published Python client would disconnect, which it does at a frame above 1 MiB. */
function tooLarge(frame: Frame, what: string, { introduction, features }: Recipient): CallError | undefined {
  if (introduction?.runtime !== "python" || features.size > 0) return undefined;
  const bytes = typeof frame === "string" ? Buffer.byteLength(frame) : frameBytes(frame);
  if (bytes <= PUBLISHED_PYTHON_MAX_FRAME_BYTES) return undefined;
  const limit = PUBLISHED_PYTHON_MAX_FRAME_BYTES;
  return new CallError(
    "payload_too_large",
    `${what} makes a frame of ${bytes} bytes; this worker's client takes ${limit}`,
    { details: { bytes, limit } },
  );
}

function wireError(error: CallError, { features }: Recipient): WireError {
  const { code, message, stacktrace, details } = error;
  return features.has("error_details")
    ? { code, message, stacktrace, details: { executed: error.executed, ...details } }
    : { code, message, stacktrace };
}
