import type { Failure } from "../failure.ts";
import { JSON_TYPE, type RouteResponse } from "./route-response.ts";

/** `standard` is `{"error":{"code","message","error_id"}}`, `legacy` the older `{"error":"message","error_id"}`. */
export type ErrorFormat = "standard" | "legacy";

/** As published, a condition that was not met has `skipped` beside the error. */
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
