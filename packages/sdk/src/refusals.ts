import { CallError, MAX_TIMEOUT_MS, nameProblem } from "@svc/protocol";

/** Why a deadline cannot be taken, or undefined. `what` opens the sentence. */
export function timeoutProblem(value: unknown, what: string): string | undefined {
  if (value === undefined) return undefined;
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_TIMEOUT_MS) return undefined;
  return `${what} must be a whole number of milliseconds from 1 to ${MAX_TIMEOUT_MS}, not ${String(value)}`;
}

/** Why a name cannot be taken, or undefined: for callers without a type checker too. */
export function nameRefusal(value: unknown, what: string): string | undefined {
  return typeof value === "string" ? nameProblem(value, what) : `${what} must be a string, not ${typeof value}`;
}

/** Why a request is not one, or undefined. */
export function requestRefusal(
  request: { readonly function_id: unknown; readonly timeout_ms?: unknown },
  signal: AbortSignal | undefined,
): CallError | undefined {
  const badName = nameRefusal(request.function_id, "function_id");
  if (badName !== undefined) return new CallError("invalid_name", badName);
  const badTimeout = timeoutProblem(request.timeout_ms, "timeout_ms of the call");
  if (badTimeout !== undefined) return new CallError("invalid_input", badTimeout);
  if (signal?.aborted !== true) return undefined;
  return new CallError("call_cancelled", `the call of function ${String(request.function_id)} was withdrawn before it was made`, {
    cause: signal.reason,
    details: { executed: "no" },
  });
}
