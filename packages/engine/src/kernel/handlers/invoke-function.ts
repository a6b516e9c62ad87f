import { CallError, type FunctionId, type InvocationId, type MessageOf, Payload } from "@svc-runtime/protocol";
import type { CallRequest, Outcome } from "../call.ts";
import { metadataOfCaller } from "../call-metadata.ts";
import type { DirectoryChanges } from "../directory-changes.ts";
import { newInvocationId, type Router } from "../router.ts";
import type { Session } from "../session.ts";
import { cleanBaggage, cleanTraceparent } from "../trace-context.ts";
import type { WorkerLimits } from "../worker-limits.ts";
import { type AdmitCallPorts, admitCall } from "./admit-call.ts";
import { introduceWorker, REGISTER_WORKER } from "./introduce-worker.ts";

/** The function that is called for `action: enqueue`. The module or worker that implements queues provides it. */
const ENQUEUE = "engine::queue::enqueue" as FunctionId;

export interface CallPorts extends AdmitCallPorts {
  readonly router: Router;
  readonly limits: WorkerLimits;
  /** In milliseconds. Read at each call, since the config may change. */
  readonly deadlines: { readonly defaultTimeoutMs: number; readonly legacyCallTimeoutMs: number };
  readonly changes: DirectoryChanges;
}

/** A worker calls a function. The payload is forwarded unparsed. */
export function invokeFunction(message: MessageOf<"invokefunction">, session: Session, ports: CallPorts): void {
  const { invocation_id: wanted, function_id: functionId } = message;
  if (functionId === REGISTER_WORKER) {
    const outcome = introduceWorker(message, session, ports);
    if (message.action?.type !== "void" && wanted !== undefined) session.answer(wanted, functionId, outcome);
    return;
  }
  const admitted = session.access === undefined ? message : admitCall(message, session.access, session, ports);
  if (admitted !== undefined) makeCall(admitted, functionId, session, ports);
}

/**
 * `functionId`: the function that the worker requested. The result names it, even if a middleware is called instead.
 */
function makeCall(
  message: MessageOf<"invokefunction">,
  functionId: FunctionId,
  session: Session,
  ports: CallPorts,
): void {
  const { invocation_id: wanted, action } = message;
  const isVoid = action?.type === "void" || wanted === undefined;
  const { maxCallsInFlight } = ports.limits;
  if (session.made.size + session.voidCalls >= maxCallsInFlight) {
    const error = new CallError(
      "too_many_calls",
      `this connection has ${maxCallsInFlight} calls in flight, which is the limit`,
      {
        details: { limit: maxCallsInFlight },
      },
    );
    ports.telemetry.collector?.callDenied(error, session.caller);
    if (wanted === undefined || action?.type === "void") logVoidFailure({ ok: false, error }, functionId, session);
    else session.answer(wanted, functionId, { ok: false, error });
    return;
  }
  if (action?.type === "enqueue") {
    enqueue(message, action.queue, session, ports);
    return;
  }
  if (isVoid) {
    const request = requestOf(message, session, ports, newInvocationId(), (outcome) => {
      session.voidCalls--;
      logVoidFailure(outcome, functionId, session);
    });
    session.voidCalls++;
    ports.router.start(request);
    return;
  }
  if (session.made.has(wanted)) {
    const error = new CallError("invalid_message", `invocation_id ${wanted} is already in use by a call in flight`);
    ports.telemetry.collector?.callDenied(error, session.caller);
    session.warn("a frame was refused", { problem: error.message });
    session.sendError(error);
    return;
  }
  const isTraced = message.traceparent !== undefined;
  const request = requestOf(message, session, ports, wanted, (outcome) => {
    session.made.delete(wanted);
    session.answer(wanted, functionId, outcome, isTraced);
  });
  const call = ports.router.start(request);
  if (call !== undefined) session.made.set(wanted, call);
}

function requestOf(
  message: MessageOf<"invokefunction">,
  session: Session,
  ports: CallPorts,
  id: InvocationId,
  onSettled: CallRequest["onSettled"],
): CallRequest {
  const { deadlines } = ports;
  return {
    id,
    functionId: message.function_id,
    payload: message.data,
    timeoutMs: session.features.has("deadlines") ? message.timeout_ms : undefined,
    fallbackTimeoutMs: session.features.has("deadlines") ? deadlines.defaultTimeoutMs : deadlines.legacyCallTimeoutMs,
    traceparent: cleanTraceparent(message.traceparent),
    baggage: cleanBaggage(message.baggage),
    metadata: metadataOfCaller(message.metadata),
    caller: session.caller,
    job: undefined,
    // A worker with in-flight calls may need further calls to finish them.
    whileDraining: session.held.size > 0,
    onSettled,
  };
}

function enqueue(message: MessageOf<"invokefunction">, queue: string, session: Session, ports: CallPorts): void {
  const { invocation_id: wanted, function_id: functionId } = message;
  const answer = (outcome: Outcome): void => {
    if (wanted === undefined) logVoidFailure(outcome, functionId, session);
    else session.answer(wanted, functionId, outcome);
  };
  const refuse = (error: CallError): void => {
    ports.telemetry.collector?.callDenied(error, session.caller);
    answer({ ok: false, error });
  };
  if (ports.registry.find(ENQUEUE) === undefined) {
    refuse(
      new CallError(
        "enqueue_error",
        `no queue is installed (${ENQUEUE} has no provider); add one with: svc worker add svc-queue`,
      ),
    );
    return;
  }
  let payload: Payload;
  try {
    payload = enqueuePayload(message, queue);
  } catch (thrown) {
    refuse(CallError.from(thrown));
    return;
  }
  const request = requestOf(message, session, ports, newInvocationId(), (outcome) => {
    session.voidCalls--;
    if (outcome.ok || outcome.error.code === "enqueue_error") answer(outcome);
    else
      answer({
        ok: false,
        error: new CallError("enqueue_error", `${outcome.error.code}: ${outcome.error.message}`, {
          // The job may be stored: after a timeout, for example.
          details: { ...outcome.error.details, executed: outcome.error.executed },
        }),
      });
  });
  session.voidCalls++;
  ports.router.start({ ...request, functionId: ENQUEUE, payload, timeoutMs: undefined });
}

/**
 * Builds the payload. Copies `data` as text, so that long numbers keep all digits. Throws CallError `invalid_message`
 * if `data` is not JSON, because other text could add members to the payload.
 */
function enqueuePayload(
  { function_id, data, traceparent, baggage }: MessageOf<"invokefunction">,
  queue: string,
): Payload {
  data.value();
  const members = {
    queue,
    function_id,
    messageReceiptId: newInvocationId(),
    traceparent: cleanTraceparent(traceparent),
    baggage: cleanBaggage(baggage),
  };
  return Payload.fromText(`${JSON.stringify(members).slice(0, -1)},"data":${data.text()}}`);
}

function logVoidFailure(outcome: Outcome, functionId: FunctionId, session: Session): void {
  if (!outcome.ok)
    session.log.info("a void call failed", { functionId, code: outcome.error.code, problem: outcome.error.message });
}
