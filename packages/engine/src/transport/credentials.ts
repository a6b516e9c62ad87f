import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { tokenOfSubprotocols } from "@svc-runtime/protocol";

/**
 * The credentials of a request. A token is sent as Bearer, as the password of Basic (with any user), or in a WebSocket
 * subprotocol.
 */
export type Credentials =
  | { readonly kind: "none" }
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "unreadable" };

const SCHEME = /^([a-z0-9._~+-]+) +([^ ]+) *$/i;

export function credentialsOf({ headers }: Pick<IncomingMessage, "headers">): Credentials {
  const { authorization } = headers;
  if (authorization !== undefined) return readAuthorization(authorization);
  const token = tokenOfSubprotocols(headers["sec-websocket-protocol"]);
  if (token === undefined) return { kind: "none" };
  return token === null ? { kind: "unreadable" } : { kind: "token", token };
}

function readAuthorization(value: string): Credentials {
  const [, scheme, rest] = SCHEME.exec(value.trim()) ?? [];
  if (rest === undefined) return { kind: "unreadable" };
  switch (scheme?.toLowerCase()) {
    case "bearer":
      return { kind: "token", token: rest };
    case "basic": {
      const pair = Buffer.from(rest, "base64").toString("utf8");
      const colon = pair.indexOf(":");
      return colon === -1 ? { kind: "unreadable" } : { kind: "token", token: pair.slice(colon + 1) };
    }
    default:
      return { kind: "unreadable" };
  }
}

/** Returns the digest of a token, for `isToken`. */
export function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/**
 * Returns whether `given` is the token with this digest. Compares digests in constant time, so that the duration
 * reveals nothing about the token. `timingSafeEqual` needs inputs of equal length, which digests have.
 */
export function isToken(given: string, digest: Buffer): boolean {
  return timingSafeEqual(digestOf(given), digest);
}
