import type { CallContext } from "../call-context.ts";
import type { HttpRequest, HttpTriggerPayload } from "./http-request.ts";
import { ResponseWriter } from "./response-writer.ts";

/** Handles a request. It returns the body or `{status_code, headers, body}`, or it writes the response. */
export type HttpHandler<Body = unknown> = (
  request: HttpRequest<Body>,
  response: ResponseWriter,
  context: CallContext,
) => unknown;

const HTTP_HANDLER = Symbol("svc.http");

/** A handler for `http` triggers, made by `http`. */
export interface HttpRequestHandler<Body = unknown> {
  (payload: HttpTriggerPayload<Body>, context: CallContext): Promise<unknown>;
  readonly [HTTP_HANDLER]: true;
}

/** Type of the body in the output of a function's `requestFormat`. */
export type BodyIn<Output> = Output extends { readonly body?: infer Body } ? Body : unknown;

export function isHttpHandler(handler: unknown): boolean {
  return typeof handler === "function" && HTTP_HANDLER in handler;
}

/**
 * Wraps a handler with request and response as a handler for `http` triggers. When the handler returns, a written
 * response is ended. When it throws, a written response is aborted, so that the client sees that it is incomplete. A
 * handler that returns and writes nothing responds with 204. An unread body is cancelled.
 */
export function http<Body = unknown>(handler: HttpHandler<Body>): HttpRequestHandler<Body> {
  const run = async (payload: HttpTriggerPayload<Body>, context: CallContext): Promise<unknown> => {
    const { response: channel, ...request } = payload;
    const response = new ResponseWriter(channel);
    try {
      const result = await handler(request, response, context);
      if (response.hasBegun) {
        await response.end();
        return undefined;
      }
      if (result !== undefined) return response.hasHead ? response.complete(result) : wrapped(result);
      if (!response.hasHead) return { status_code: 204 };
      await response.end();
      return undefined;
    } catch (thrown) {
      if (response.hasBegun) response.abort();
      throw thrown;
    } finally {
      request.request_body?.cancel();
      for (const file of request.files ?? []) file.body.cancel();
    }
  };
  return Object.assign(run, { [HTTP_HANDLER]: true } as const);
}

/** Without a result the engine would wait for a streamed response. Null is a body. */
function wrapped(result: unknown): unknown {
  return result === null ? { status_code: 200, body: null } : result;
}
