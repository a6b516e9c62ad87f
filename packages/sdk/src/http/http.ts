import type { CallContext } from "../calls/call-context.ts";
import { loadPart, type Part } from "../on-demand.ts";
import { HTTP_HANDLER, type HttpHandler, type HttpRequestHandler } from "./http-handler.ts";
import type { HttpTriggerPayload } from "./http-request.ts";

/** The part of the SDK that handles HTTP requests. */
export type HttpPart = typeof import("./handle-request.ts");

/**
 * Turns a handler with request and response into a handler for `http` triggers. If the handler wrote to the response,
 * the response is ended when the handler returns. If the handler throws after it wrote, the response is aborted, so
 * that the client sees that it is incomplete. If the handler returns and wrote nothing, the response is 204. A request
 * body that was not read is cancelled.
 */
export type Http = <Body = unknown>(handler: HttpHandler<Body>) => HttpRequestHandler<Body>;

/**
 * Returns a handler for `http` triggers. `handlerOf` is called when the part is loaded, and returns the handler of the
 * request.
 */
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
