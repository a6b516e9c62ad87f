import { REQUEST_ID_HEADER } from "../config.ts";
import type { RequestContext } from "../request-context.ts";
import { withCors } from "./cors.ts";
import { headerValue } from "./header-list.ts";
import type { RouteResponse } from "./route-response.ts";

/** Adds the headers that every response has: `X-Request-Id`, and those of CORS if it is configured. */
export function withCommonHeaders(
  { cors, headers: requestHeaders, requestId }: Pick<RequestContext, "cors" | "headers" | "requestId">,
  { status, headers: given, body, dropped }: RouteResponse,
): RouteResponse {
  const headers = cors === undefined ? given : withCors(given, cors, requestHeaders.single.origin);
  const hasRequestId = headerValue(headers, REQUEST_ID_HEADER) !== undefined;
  return { status, headers: hasRequestId ? headers : headers.concat("X-Request-Id", requestId), body, dropped };
}
