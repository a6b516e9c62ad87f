import { CallError, type FunctionId, type MessageOf, Payload } from "@svc-runtime/protocol";
import type { SessionAccess } from "../../access/session-access.ts";
import { ENQUEUE, goesThroughMiddleware, refusalToCall, refusalToDefer } from "../../access/target-refusal.ts";
import type { Registry } from "../registry.ts";
import type { Session } from "../session.ts";
import type { TelemetryHub } from "../telemetry.ts";

export interface AdmitCallPorts {
  readonly registry: Registry;
  readonly telemetry: TelemetryHub;
}

/**
 * Checks a call of a restricted connection. Returns the call to make, which may be a call of the middleware instead.
 * Returns undefined if the call is denied; then the caller has received the error, unless it made a void call.
 */
export function admitCall(
  message: MessageOf<"invokefunction">,
  access: SessionAccess,
  session: Session,
  { registry, telemetry }: AdmitCallPorts,
): MessageOf<"invokefunction"> | undefined {
  const { function_id: functionId, invocation_id: wanted, action } = message;
  const refusal = refusalToCall(functionId, access, registry) ?? jobRefusal(message, access, registry);
  if (refusal !== undefined) {
    auditDenial(session, access, { action: "call", id: functionId, reason: refusal });
    return refuse(new CallError("FORBIDDEN", refusal));
  }
  const { middlewareFunctionId } = access.policy;
  if (middlewareFunctionId === undefined || !goesThroughMiddleware(functionId, access)) return message;
  if (!message.data.isJson()) return refuse(new CallError("invalid_message", "the payload is not JSON"));
  return {
    ...message,
    function_id: middlewareFunctionId as FunctionId,
    data: middlewareInput(message, access),
    // The middleware is called directly, not through a queue: its result is the result of the call.
    action: action?.type === "void" ? action : undefined,
  };

  function refuse(error: CallError): undefined {
    telemetry.collector?.callDenied(error, session.caller);
    // An id that is already in use belongs to another call, which gets its own result.
    if (wanted !== undefined && action?.type !== "void" && !session.made.has(wanted))
      session.answer(wanted, functionId, { ok: false, error });
    return undefined;
  }
}

/** Returns the payload for the middleware. Copies the caller's JSON as text, so that long numbers keep all digits. */
function middlewareInput(message: MessageOf<"invokefunction">, access: SessionAccess): Payload {
  const { function_id, data, action } = message;
  const rest = JSON.stringify({ function_id, action: action ?? null, context: access.grants.context });
  return Payload.fromText(`{"payload":${data.text()},${rest.slice(1)}`);
}

/** A job calls its function through the queue, so the caller must be allowed to call that function as well. */
function jobRefusal(
  { function_id, data }: MessageOf<"invokefunction">,
  access: SessionAccess,
  registry: Registry,
): string | undefined {
  if (function_id !== ENQUEUE) return undefined;
  const job = data.isJson() ? data.value() : undefined;
  const target = typeof job === "object" && job !== null && "function_id" in job ? job.function_id : undefined;
  return typeof target === "string" ? refusalToDefer(target, access, registry) : "a job must name its function";
}

/** Logs a denied action of a connection, rate-limited by ThrottledLog. */
export function auditDenial(
  session: Session,
  access: SessionAccess,
  denial: { readonly action: string; readonly id: string; readonly reason: string },
): void {
  session.warn("access denied", {
    ...denial,
    subject: access.grants.subject,
    workerName: session.name,
    remoteAddress: session.remoteAddress,
  });
}
