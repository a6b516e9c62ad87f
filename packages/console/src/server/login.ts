import type { IncomingMessage, ServerResponse } from "node:http";
import type { Login } from "./access.ts";
import { SECURITY_HEADERS, sendError } from "./respond.ts";

/** Browsers ask for user and password by themselves; the user may be any, e.g. svc. */
const CHALLENGE = { "www-authenticate": 'Basic realm="svc console", charset="UTF-8"' };

/** Answers a request that may not go on for want of a login, or that has just logged in by its address. True when it goes on. */
export function answerLogin(
  login: Login,
  own: { readonly request: IncomingMessage; readonly response: ServerResponse; readonly path: string; readonly query: URLSearchParams },
): boolean {
  const { request, response, path, query } = own;
  if (login.kind === "welcome") {
    if (login.setCookie === undefined) return true;
    response.setHeader("set-cookie", login.setCookie);
    if (!query.has("token") || (request.method !== "GET" && request.method !== "HEAD")) return true;
    // The token shall stay in no history and no picture of the screen.
    query.delete("token");
    const rest = query.size === 0 ? "" : `?${query}`;
    // One slash: two would lead to another host.
    response.writeHead(303, { ...SECURITY_HEADERS, location: `${path.replace(/^\/+/, "/")}${rest}`, "cache-control": "no-store" }).end();
    return false;
  }
  const message =
    login.kind === "wrong"
      ? "the token is not the one that this console was started with"
      : "this console wants the engine's token: as the password of user svc, or add ?token=TOKEN to the address";
  sendError(response, 401, { code: "AUTH_ERROR", message }, CHALLENGE);
  return false;
}
