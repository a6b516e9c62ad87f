import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

const TOKEN_SUBPROTOCOL = "svc.console.";

/**
 * Token of the page for this run of the console. Without a login it is in the page's HTML, and the page sends it with
 * each request, so that no other page can make calls.
 */
export class PageToken {
  readonly value = randomBytes(32).toString("base64url");

  isSame(given: string | undefined): boolean {
    return isSameSecret(given, this.value);
  }
}

/** Returns the token of a request: the page's own, or that of a session. */
export function presentedToken({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  const given = headers["x-svc-console"];
  return typeof given === "string" ? given : undefined;
}

/** Returns the token of a WebSocket. It is sent as a subprotocol, because browsers let pages set no headers there. */
export function presentedSocketToken({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  const protocol = headers["sec-websocket-protocol"];
  return protocol?.startsWith(TOKEN_SUBPROTOCOL) === true ? protocol.slice(TOKEN_SUBPROTOCOL.length) : undefined;
}

/** Compares in constant time. */
export function isSameSecret(given: string | undefined, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(wanted));
}
