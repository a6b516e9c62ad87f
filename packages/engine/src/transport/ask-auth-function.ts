import { CallError, type FunctionId, Payload } from "@svc-runtime/protocol";
import { authResultSchema, type Grants, grantsOfAuthResult } from "../access/grants.ts";
import type { Router } from "../kernel/router.ts";

/** Timeout of an auth function, in milliseconds. */
const AUTH_TIMEOUT_MS = 5_000;

/**
 * Calls a listener's auth function for a new connection. Rejects with `AUTH_ERROR` if the function throws, returns
 * null, or returns an invalid grant. Rejects with another code if the function cannot be called, e.g.
 * `function_not_found`. In all these cases the connection is refused.
 */
export async function askAuthFunction(
  router: Router,
  id: string,
  handshake: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<Grants> {
  let answer: unknown;
  try {
    answer = (
      await router.call(id as FunctionId, Payload.fromValue(handshake), { timeoutMs: AUTH_TIMEOUT_MS, signal })
    ).value();
  } catch (thrown) {
    const error = CallError.from(thrown);
    if (error.retryable || error.code === "call_cancelled")
      throw new CallError(error.code, `the auth function cannot be called: ${error.message}`);
    throw new CallError("AUTH_ERROR", error.message);
  }
  if (answer === null) throw new CallError("AUTH_ERROR", "auth function returned no result");
  const parsed = authResultSchema.safeParse(answer);
  if (parsed.success) return grantsOfAuthResult(parsed.data, id);
  const issue = parsed.error.issues[0];
  throw new CallError(
    "AUTH_ERROR",
    `auth function returned an invalid result: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`,
  );
}
