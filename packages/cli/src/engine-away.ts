import { CallError } from "@svc/protocol";

const PASSING: ReadonlySet<string> = new Set(["disconnected", "draining", "call_timeout", "function_not_found", "call_cancelled", "invocation_stopped"]);

/** The engine is away, is starting or is ending: it may well answer the next time. */
export function isAway(error: unknown): boolean {
  return CallError.is(error) && (error.retryable || PASSING.has(error.code));
}
