import type { CallContext, Handler } from "../calls.ts";
import type { HttpRequest, HttpTriggerPayload } from "./http-request.ts";
import { ResponseWriter } from "./response-writer.ts";

/** Answers a request: by what it returns, as the body or as `{status_code, headers, body}`, or by writing the response. */
export type HttpHandler<Body = unknown> = (request: HttpRequest<Body>, response: ResponseWriter, context: CallContext) => unknown;

/**
 * Makes a handler for `http` triggers out of one that takes request and response. A response that was written is ended when the
 * handler returns, and broken off when it throws, so that the client cannot take half of it for the whole. A handler that returns
 * nothing and writes nothing answers 204. A body that was not read to its end is let go of.
 */
export function http<Body = unknown>(handler: HttpHandler<Body>): Handler<HttpTriggerPayload<Body>> {
  return async (payload, context) => {
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
}

/** Without a result the engine would wait for a streamed response; null is a body. */
function wrapped(result: unknown): unknown {
  return result === null ? { status_code: 200, body: null } : result;
}
