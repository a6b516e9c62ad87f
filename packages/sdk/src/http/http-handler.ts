import type { CallContext } from "../calls/call-context.ts";
import type { HttpRequest, HttpTriggerPayload } from "./http-request.ts";
import type { ResponseWriter } from "./response-writer.ts";

/** Handles a request. It returns the body or `{status_code, headers, body}`, or it writes to the response. */
export type HttpHandler<Body = unknown> = (
  request: HttpRequest<Body>,
  response: ResponseWriter,
  context: CallContext,
) => unknown;

export const HTTP_HANDLER = Symbol("svc.http");

/** A handler for `http` triggers. `http` creates it. */
export interface HttpRequestHandler<Body = unknown> {
  (payload: HttpTriggerPayload<Body>, context: CallContext): Promise<unknown>;
  readonly [HTTP_HANDLER]: true;
}

/** Type of the body in the output of a function's `requestFormat`. */
export type BodyIn<Output> = Output extends { readonly body?: infer Body } ? Body : unknown;

export function isHttpHandler(handler: unknown): boolean {
  return typeof handler === "function" && HTTP_HANDLER in handler;
}
