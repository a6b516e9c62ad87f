import type { IncomingMessage, ServerResponse } from "node:http";
import { type EngineHttp, toEngine, unreachable } from "./engine-http.ts";
import { sendError } from "./respond.ts";
import { SECURITY_HEADERS } from "./security-headers.ts";

/** Headers of the engine's response that are passed on to the page. */
const FORWARDED_HEADERS = [
  "content-type",
  "content-length",
  "x-svc-invocation-id",
  "x-svc-trace-id",
  "retry-after",
] as const;

/**
 * Forwards `POST /_console/invoke` to the engine, and the response back to the page. Both bodies are streamed. If the
 * page closes the request, the call is cancelled. Resolves when either side has finished.
 */
export function forwardInvoke(request: IncomingMessage, response: ServerResponse, engine: EngineHttp): Promise<void> {
  return new Promise((resolve) => {
    const headers: Record<string, string> = { "content-type": request.headers["content-type"] ?? "" };
    if (request.headers["content-length"] !== undefined) headers["content-length"] = request.headers["content-length"];
    const token = engine.token();
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    const upstream = toEngine(engine, { method: "POST", path: "/_console/invoke", headers });
    let answered = false;
    upstream.on("response", (answer) => {
      answered = true;
      const forwarded = FORWARDED_HEADERS.flatMap((name) =>
        answer.headers[name] === undefined ? [] : [[name, answer.headers[name] as string]],
      );
      response.writeHead(answer.statusCode ?? 502, {
        ...SECURITY_HEADERS,
        "cache-control": "no-store",
        ...Object.fromEntries(forwarded),
      });
      answer.on("error", () => response.destroy());
      answer.pipe(response);
    });
    upstream.on("error", (error) => {
      if (response.destroyed) return;
      // The engine may respond and close the connection before it has read the whole body, for example because the body
      // is too large. So an error after the response is ignored.
      if (answered) return;
      const isAway = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"].includes((error as NodeJS.ErrnoException).code ?? "");
      sendError(response, isAway ? 503 : 502, {
        code: "disconnected",
        message: unreachable(engine, error),
        // If the connection was lost after it was made, it is not known whether the function ran.
        details: { sent: !isAway },
      });
    });
    response.on("close", () => {
      upstream.destroy();
      resolve();
    });
    request.on("error", () => upstream.destroy());
    request.pipe(upstream);
  });
}
