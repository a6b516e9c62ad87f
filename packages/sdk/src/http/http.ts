import type { CallContext } from "../calls/call-context.ts";
import { loadPart, type Part } from "../on-demand.ts";
import { HTTP_HANDLER, type HttpHandler, type HttpRequestHandler } from "./http-handler.ts";
import type { HttpTriggerPayload } from "./http-request.ts";

/** The part of the SDK that handles HTTP requests. */
export type HttpPart = typeof import("./handle-request.ts");

/**
 * Wraps a handler with request and response as a handler for `http` triggers. When the handler returns, a written
 * response is ended. When it throws, a written response is aborted, so that the client sees that it is incomplete. A
 * handler that returns and writes nothing responds with 204. An unread body is cancelled.
 */
export type Http = <Body = unknown>(handler: HttpHandler<Body>) => HttpRequestHandler<Body>;

/** Returns a handler for `http` triggers. `handlerOf` returns the handler of a request when the part is loaded. */
export function requestHandler<Body>(
  part: Part<HttpPart>,
  handlerOf: (contents: HttpPart) => HttpHandler<Body>,
): HttpRequestHandler<Body> {
  const run = async (payload: HttpTriggerPayload<Body>, context: CallContext): Promise<unknown> => {
    const contents = part();
    const loaded = contents instanceof Promise ? await loadPart(() => contents) : contents;
    return loaded.handleRequest(handlerOf(loaded), payload, context);
  };
  return Object.assign(run, { [HTTP_HANDLER]: true } as const);
}
