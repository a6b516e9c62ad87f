import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

const TOKEN_SUBPROTOCOL = "svc.console.";

/** Token of the page of this run of the console. In a console without a login the page's HTML has it, and sends it with each request, so that no other page can. */
export class PageToken {
  readonly value = randomBytes(32).toString("base64url");

  isSame(given: string | undefined): boolean {
    return isSameSecret(given, this.value);
  }
}

/** The token that a request of the page presents: the page's own, or that of a session. */
export function presentedToken({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  const given = headers["x-svc-console"];
  return typeof given === "string" ? given : undefined;
}

/** Likewise of a socket: browsers let pages set no header there, but a subprotocol. */
export function presentedSocketToken({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  const protocol = headers["sec-websocket-protocol"];
  return protocol?.startsWith(TOKEN_SUBPROTOCOL) === true ? protocol.slice(TOKEN_SUBPROTOCOL.length) : undefined;
}

/** In a time that tells nothing about either. */
export function isSameSecret(given: string | undefined, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(wanted));
}
