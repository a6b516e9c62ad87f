import { CallError, type FunctionId } from "@svc-runtime/protocol";
import type { Call, Outcome } from "./call.ts";

/** The message must not change, because published clients compare it. */
export function functionNotFound(id: FunctionId): CallError {
  return new CallError("function_not_found", `Function ${id} not found`, { details: { function_id: id } });
}

/** Returns the error of a call that no provider can take: all are draining, or all that do not drain are overloaded. */
export function noProviderAvailable(id: FunctionId, reason: "draining" | "overloaded"): CallError {
  return reason === "draining"
    ? new CallError("draining", `every worker that provides ${id} is shutting down`)
    : new CallError("worker_overloaded", `every worker that provides ${id} has a full outbound buffer`);
}

export function engineDraining(): CallError {
  return new CallError("draining", "the engine is shutting down and takes no new calls");
}

export function callTimedOut(id: FunctionId, timeoutMs: number): CallError {
  return new CallError("call_timeout", `${id} did not answer within ${timeoutMs} ms`, {
    details: { function_id: id, timeout_ms: timeoutMs },
  });
}

/**
 * The outcome of a call whose provider is gone: its worker or node has disconnected, or its module has stopped.
 * Published clients match the message.
 */
export function providerGone(call: Call, details?: Readonly<Record<string, unknown>>): Outcome {
  const isUnsent = call.isUnsent?.() ?? false;
  const error = new CallError("invocation_stopped", "Invocation stopped", {
    details: { function_id: call.functionId, ...details, ...(isUnsent ? { executed: "no" } : {}) },
  });
  return { ok: false, error, cause: isUnsent ? "not_delivered" : "provider_disconnected" };
}

export function callCancelled(id: FunctionId, reason: string): CallError {
  return new CallError("call_cancelled", `the call of ${id} was cancelled: ${reason}`);
}

export function callCancelledEarly(id: FunctionId): CallError {
  return new CallError("call_cancelled", `the call of ${id} was cancelled before it began`, {
    details: { executed: "no" },
  });
}
