import type { IncomingMessage } from "node:http";
import type { Fields } from "./fields.ts";
import type { RequestTarget } from "./routing/path.ts";
import type { Client } from "./trusted-proxies.ts";

/** A request without its body. Middleware may change its headers, path parameters and query. */
export interface IncomingRequest {
  readonly requestId: string;
  readonly method: string;
  readonly target: RequestTarget;
  readonly client: Client;
  readonly headers: Fields;
  pathParams: Record<string, string>;
  query: Fields;
}

const MAX_REQUEST_ID = 128;
const REQUEST_ID = /^[A-Za-z0-9._:+/=@-]+$/;

/**
 * Returns the request id in the header `name`, or undefined if it is invalid. Valid are ids of at most 128 letters,
 * digits and characters of `._:+/=@-`.
 */
export function givenRequestId(headers: Fields, name: string): string | undefined {
  const id = headers.single[name];
  return id !== undefined && id.length <= MAX_REQUEST_ID && REQUEST_ID.test(id) ? id : undefined;
}

/** Returns true if the request's connection is encrypted. */
export function isEncrypted(request: Pick<IncomingMessage, "socket">): boolean {
  return "encrypted" in request.socket && request.socket.encrypted === true;
}
