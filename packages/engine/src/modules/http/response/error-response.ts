import type { Failure } from "../refusal.ts";
import { JSON_TYPE, type RouteResponse } from "./route-response.ts";

/** `standard` is `{"error":{"code","message","error_id"}}`, `legacy` the older `{"error":"message","error_id"}`. */
export type ErrorFormat = "standard" | "legacy";

/**
 * Returns the response for a failure. If the condition of a route was not met, the body has `skipped` beside the error,
 * because clients of the published engine know it.
 */
export function responseOfFailure(failure: Failure, errorId: string, format: ErrorFormat): RouteResponse {
  const { status, code, message } = failure;
  const error =
    format === "legacy" ? { error: message, error_id: errorId } : { error: { code, message, error_id: errorId } };
  const headers = ["Content-Type", JSON_TYPE, "X-Content-Type-Options", "nosniff"];
  for (const [name, value] of Object.entries(failure.headers ?? {})) headers.push(name, value);
  return {
    status,
    headers,
    body: JSON.stringify(code === "condition_not_met" ? { ...error, skipped: true } : error),
    dropped: [],
  };
}
