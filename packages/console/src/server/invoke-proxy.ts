import type { IncomingMessage, ServerResponse } from "node:http";
import { type EngineHttp, toEngine, unreachable } from "./engine-http.ts";
import { SECURITY_HEADERS, sendError } from "./respond.ts";

/** Of the engine's answer, what the page is told. */
const PASSED_ON = ["content-type", "content-length", "x-svc-invocation-id", "x-svc-trace-id", "retry-after"] as const;

/**
 * Passes `POST /_console/invoke` on to the engine, the body untouched and as it comes, and the answer back. A page that closes the request cancels the
 * call. Resolves when either side is through.
 */
export function passInvokeOn(request: IncomingMessage, response: ServerResponse, engine: EngineHttp): Promise<void> {
  return new Promise((resolve) => {
    const headers: Record<string, string> = { "content-type": request.headers["content-type"] ?? "" };
    if (request.headers["content-length"] !== undefined) headers["content-length"] = request.headers["content-length"];
    const token = engine.token();
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    const upstream = toEngine(engine, { method: "POST", path: "/_console/invoke", headers });
    let answered = false;
    upstream.on("response", (answer) => {
      answered = true;
      const told = PASSED_ON.flatMap((name) => (answer.headers[name] === undefined ? [] : [[name, answer.headers[name] as string]]));
      response.writeHead(answer.statusCode ?? 502, { ...SECURITY_HEADERS, "cache-control": "no-store", ...Object.fromEntries(told) });
      answer.on("error", () => response.destroy());
      answer.pipe(response);
    });
    upstream.on("error", (error) => {
      if (response.destroyed) return;
      // The engine may answer, e.g. that the body is too large, and close before it has read all.
      if (answered) return;
      const isAway = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"].includes((error as NodeJS.ErrnoException).code ?? "");
      sendError(response, isAway ? 503 : 502, {
        code: "disconnected",
        message: unreachable(engine, error),
        // Whether the function ran cannot be told where the connection was lost on the way.
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
