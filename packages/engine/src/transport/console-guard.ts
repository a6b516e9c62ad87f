import type { IncomingMessage } from "node:http";
import { type AccessRules, fetchSiteIsSafe, originIsAllowed } from "./guards.ts";
import type { Refusal } from "./token-guard.ts";

/** Returns true for paths that the engine reserves for the console on its HTTP listener. */
export function isConsolePath(path: string): boolean {
  return path === "/_console" || path.startsWith("/_console/");
}

/**
 * Headers of every response below `/_console`. Because of them, a page of another site cannot load the response as a
 * script, guess its type, or show it in a frame.
 */
export const CONSOLE_HEADERS: readonly (readonly [string, string])[] = [
  ["x-content-type-options", "nosniff"],
  ["cross-origin-resource-policy", "same-origin"],
  ["x-frame-options", "DENY"],
  ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
];

/** Methods that any page may send, because they have no effects and the page cannot read the response. */
const READING: ReadonlySet<string> = new Set(["GET", "HEAD"]);
const WRITING: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);

/**
 * Returns why a request below `/_console` is refused, or undefined. It refuses requests with effects from pages of
 * other sites, whichever handler gets them. In addition, handlers that read a body require JSON, which such a page
 * cannot send without a preflight request.
 */
export function consoleRefusal(request: IncomingMessage, rules: AccessRules, ownOrigin: string): Refusal | undefined {
  const method = request.method ?? "";
  if (READING.has(method)) return undefined;
  if (!WRITING.has(method)) {
    const allow = [...READING, ...WRITING].join(", ");
    return {
      status: "405 Method Not Allowed",
      code: "method_not_allowed",
      message: `the console's paths do not take ${method}`,
      headers: { allow },
    };
  }
  const { origin } = request.headers;
  if (!originIsAllowed(origin, rules) && origin?.toLowerCase() !== ownOrigin) {
    return {
      status: "403 Forbidden",
      code: "FORBIDDEN",
      message: `the origin ${JSON.stringify(origin)} may not do this; add it to engine.allowed_origins`,
    };
  }
  if (!fetchSiteIsSafe(request, rules))
    return { status: "403 Forbidden", code: "FORBIDDEN", message: "the request comes from a page of another site" };
  return undefined;
}
