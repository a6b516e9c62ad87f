import type { CallContext } from "../calls/call-context.ts";
import type { HttpHandler } from "./http-handler.ts";
import type { HttpTriggerPayload } from "./http-request.ts";
import { ResponseWriter } from "./response-writer.ts";

export { badRequest, checkedParts } from "./route-request.ts";

/** Runs the handler of a request and ends the response. Returns the result of the function. */
export async function handleRequest<Body>(
  handler: HttpHandler<Body>,
  payload: HttpTriggerPayload<Body>,
  context: CallContext,
): Promise<unknown> {
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
}

/**
 * Returns null as a body. If the function returned null itself, the engine would see no result and wait for a streamed
 * response.
 */
function wrapped(result: unknown): unknown {
  return result === null ? { status_code: 200, body: null } : result;
}
