import { CallError, type FunctionId, Payload } from "@svc/protocol";
import type { Router } from "../router.ts";

/** Timeout of a registration hook, in milliseconds. */
const HOOK_TIMEOUT_MS = 10_000;

export type HookAnswer =
  | { readonly allowed: true; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly allowed: false; readonly reason: string };

/**
 * Calls a registration hook. An object as result allows the registration and may rewrite fields. Any other result or a
 * failure denies it. Never rejects.
 */
export async function askHook(
  router: Router,
  hookId: string,
  input: Readonly<Record<string, unknown>>,
): Promise<HookAnswer> {
  let value: unknown;
  try {
    const answer = await router.call(hookId as FunctionId, Payload.fromValue(input), {
      timeoutMs: HOOK_TIMEOUT_MS,
    });
    value = answer.value();
  } catch (thrown) {
    const { code, message } = CallError.from(thrown);
    return { allowed: false, reason: `${hookId} failed (${code}: ${message})` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { allowed: false, reason: `${hookId} did not allow it` };
  return { allowed: true, fields: value as Readonly<Record<string, unknown>> };
}
