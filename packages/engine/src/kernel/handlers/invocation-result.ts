import { CallError, type MessageOf } from "@svc-runtime/protocol";
import type { Router } from "../router.ts";
import type { Session } from "../session.ts";
import { cleanBaggage, cleanTraceparent } from "../trace-context.ts";

/** Handles the result of a call that a worker ran. Accepts only calls that were sent to this connection. */
export function invocationResult(
  message: MessageOf<"invocationresult">,
  session: Session,
  { router }: { readonly router: Router },
): void {
  const call = session.held.get(message.invocation_id);
  if (call === undefined) {
    session.log.debug("a result was ignored: the worker has no such call in flight", {
      invocationId: message.invocation_id,
    });
    return;
  }
  if (message.error !== undefined) {
    router.settle(call, { ok: false, error: errorOfHandler(CallError.fromWire(message.error)) });
    return;
  }
  router.settle(call, {
    ok: true,
    result: message.result,
    traceparent: cleanTraceparent(message.traceparent) ?? call.traceparent,
    baggage: cleanBaggage(message.baggage) ?? call.baggage,
  });
}

/**
 * Adds `executed: "yes"` to the details unless they say otherwise. The value of the code does not apply, because the
 * handler ran, and the error may be that of a call that the handler made.
 */
function errorOfHandler(error: CallError): CallError {
  const { code, message, details, stacktrace, executed } = error;
  if (executed === "yes" || details?.executed === executed) return error;
  return new CallError(code, message, { details: { ...details, executed: "yes" }, stacktrace });
}
