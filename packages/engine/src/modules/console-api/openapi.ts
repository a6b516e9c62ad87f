import type { IncomingMessage, ServerResponse } from "node:http";
import { CallError, Payload } from "@svc-runtime/protocol";
import type { ModuleContext } from "../../kernel/module.ts";
import type { InvokeRules } from "./invoke.ts";
import { sendError, sendJson } from "./respond.ts";

/** The function of svc-http that describes its routes. */
const DESCRIBE_ROUTES = "engine::http::openapi";

/** Responds with the routes as an OpenAPI 3.1 document. Read-only, but pages of other sites must not read it either. */
export async function answerOpenApi(own: {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly context: ModuleContext<unknown>;
  readonly rules: InvokeRules;
}): Promise<void> {
  const { request, response, context, rules } = own;
  if (request.method !== "GET" && request.method !== "HEAD") {
    sendError(response, 405, "method_not_allowed", "/_console/openapi.json takes GET", {
      headers: { allow: "GET, HEAD" },
    });
    return;
  }
  if (!rules.originIsAllowed(request.headers.origin) || !rules.fetchSiteIsSafe(request)) {
    sendError(
      response,
      403,
      "FORBIDDEN",
      "the request comes from a page of another site; add its origin to engine.allowed_origins",
    );
    return;
  }
  try {
    sendJson(response, 200, (await context.call(DESCRIBE_ROUTES, Payload.null)).text());
  } catch (thrown) {
    const error = CallError.from(thrown);
    const message =
      error.code === "function_not_found"
        ? "nothing serves HTTP routes; add it with: svc worker add svc-http"
        : error.message;
    sendError(response, error.httpStatus, error.code, message);
  }
}
