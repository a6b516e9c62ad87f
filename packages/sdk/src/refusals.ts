import { CallError, MAX_TIMEOUT_MS, nameProblem } from "@svc-runtime/protocol/client";

/** Returns the reason why a timeout is invalid; undefined if it is valid. The message begins with `what`. */
export function timeoutProblem(value: unknown, what: string): string | undefined {
  if (value === undefined) return undefined;
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_TIMEOUT_MS) return undefined;
  return `${what} must be a whole number of milliseconds from 1 to ${MAX_TIMEOUT_MS}, not ${String(value)}`;
}

/**
 * Returns the reason why a name is invalid; undefined if it is valid. Also checks the type, for callers without a type
 * checker.
 */
export function nameRefusal(value: unknown, what: string): string | undefined {
  return typeof value === "string" ? nameProblem(value, what) : `${what} must be a string, not ${typeof value}`;
}

/** Returns the reason why a call cannot be made; undefined if it can. */
export function requestRefusal(
  functionId: unknown,
  timeoutMs: unknown,
  signal: AbortSignal | undefined,
): CallError | undefined {
  const badName = nameRefusal(functionId, "function_id");
  if (badName !== undefined) return new CallError("invalid_name", badName);
  const badTimeout = timeoutProblem(timeoutMs, "timeoutMs of the call");
  if (badTimeout !== undefined) return new CallError("invalid_input", badTimeout);
  if (signal?.aborted !== true) return undefined;
  return new CallError(
    "call_cancelled",
    `the call of function ${String(functionId)} was cancelled before it was made`,
    {
      cause: signal.reason,
      details: { executed: "no" },
    },
  );
}
