import type { IncomingMessage } from "node:http";
import { parseCookie } from "cookie";
import { type BodyKind, bodyKindOf } from "./body/body-kind.ts";
import { refuseRefLookalike } from "./channel-ref-lookalike.ts";
import { type Fields, readHeaders } from "./fields.ts";
import { isEncrypted } from "./incoming-request.ts";
import { type Client, clientOf, type TrustedProxies } from "./trusted-proxies.ts";

/** Maximum length of the JSON text that is kept for the next request of the connection, in characters. */
const MAX_KEPT = 4_096;

/**
 * The data that follows from the header lines of a request and from its connection. Several requests share it, so it
 * must not be modified.
 */
export class RequestHead {
  readonly rawHeaders: readonly string[];
  readonly proxies: TrustedProxies;
  readonly headers: Fields;
  readonly client: Client;
  #members: string | undefined;
  #bodyKind: BodyKind | undefined;

  constructor(request: Pick<IncomingMessage, "rawHeaders" | "socket">, proxies: TrustedProxies) {
    this.rawHeaders = request.rawHeaders;
    this.proxies = proxies;
    this.headers = readHeaders(request.rawHeaders);
    const { single } = this.headers;
    const connection = {
      remoteAddress: request.socket.remoteAddress,
      isEncrypted: isEncrypted(request),
      host: single.host,
    };
    this.client = clientOf(connection, single, proxies);
  }

  /** `headers`, `headers_all`, `cookies`, `client_address`, `protocol` and `host`, as JSON members. Throws 400. */
  get members(): string {
    const members = this.#members ?? `${headerMembers(this.headers)},${clientMembers(this.client)}`;
    if (members.length <= MAX_KEPT) this.#members = members;
    return members;
  }

  /** See `bodyKindOf`. */
  bodyKind(takesRawForms: () => boolean): BodyKind {
    if (this.#bodyKind !== undefined) return this.#bodyKind;
    let asked = false;
    const kind = bodyKindOf(this.headers.all, () => {
      asked = true;
      return takesRawForms();
    });
    // The kind is kept only if it follows from the headers alone. The result of `takesRawForms` also depends on the
    // workers of the function, which may change.
    if (!asked) this.#bodyKind = kind;
    return kind;
  }
}

/**
 * Returns the head of a request. `connection` keeps the head for the next request, because clients mostly send the same
 * header lines again.
 */
export function headOf(
  request: Pick<IncomingMessage, "rawHeaders" | "socket">,
  proxies: TrustedProxies,
  connection: { head: RequestHead | undefined },
): RequestHead {
  const known = connection.head;
  if (known !== undefined && known.proxies === proxies && isSame(known.rawHeaders, request.rawHeaders)) return known;
  const head = new RequestHead(request, proxies);
  connection.head = head;
  return head;
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return true;
}

/**
 * Returns `headers`, `headers_all` and `cookies` as JSON members. Throws 400 for maps that look like a channel
 * reference (see `refuseRefLookalike`).
 */
export function headerMembers({ single, all }: Fields): string {
  const { cookie } = single;
  // If the name of a cookie is repeated, its first value is used, because browsers send the cookie with the longest
  // path first.
  const cookies = cookie === undefined ? undefined : parseCookie(cookie);
  refuseRefLookalike("headers", single);
  if (cookies !== undefined) refuseRefLookalike("cookies", cookies);
  return `"headers":${JSON.stringify(single)},"headers_all":${JSON.stringify(all)},"cookies":${cookies === undefined ? "{}" : JSON.stringify(cookies)}`;
}

export function clientMembers({ address, protocol, host }: Client): string {
  return `"client_address":${JSON.stringify(address)},"protocol":"${protocol}","host":${JSON.stringify(host)}`;
}
