import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

const TOKEN_SUBPROTOCOL = "svc.console.";

/**
 * Token of the page for this run of the console. If no login is needed, it is in the page's HTML, and the page sends it
 * with each request. So no other page can make requests.
 */
export class PageToken {
  readonly value = randomBytes(32).toString("base64url");

  isSame(given: string | undefined): boolean {
    return isSameSecret(given, this.value);
  }
}

/** Returns the token that a request has: that of the page, or that of a session. */
export function presentedToken({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  const given = headers["x-svc-console"];
  return typeof given === "string" ? given : undefined;
}

/**
 * Returns the token that a WebSocket request has. It is a subprotocol, because pages cannot set headers of WebSockets.
 */
export function presentedSocketToken({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  const protocol = headers["sec-websocket-protocol"];
  return protocol?.startsWith(TOKEN_SUBPROTOCOL) === true ? protocol.slice(TOKEN_SUBPROTOCOL.length) : undefined;
}

/** Returns true if both are equal. The time of the comparison does not depend on their content. */
export function isSameSecret(given: string | undefined, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(wanted));
}
