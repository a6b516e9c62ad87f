import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** Reason for a rejected request. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** Texts and hosts of the server that is guarded. */
export interface Guarded {
  /** Allowed host names besides the loopback ones. */
  readonly allowedHosts?: readonly string[];
  /** Name in messages, e.g. "this console". */
  readonly name: string;
  /** Advice for a host that is not allowed. */
  readonly hostAdvice: string;
}

type Head = Pick<IncomingMessage, "headers" | "rawHeaders" | "method"> & {
  readonly socket: Pick<Socket, "localAddress">;
};

/**
 * Rejects requests that a page of another site could cause: requests with another host name (DNS rebinding), with
 * another origin, or marked as cross-site by the browser. Pages of this server send its own origin or none.
 */
export function refusalOf(
  request: Head,
  port: number,
  { allowedHosts = [], name, hostAdvice }: Guarded,
): Refusal | undefined {
  const hosts = request.rawHeaders.filter(
    (name, at) => at % 2 === 0 && name.length === 4 && name.toLowerCase() === "host",
  ).length;
  if (hosts > 1) return { status: 400, code: "invalid_request", message: "the request has more than one Host" };
  const host = (request.headers.host ?? "").toLowerCase();
  if (!hostIsOurs(host, port, allowedHosts, request.socket.localAddress)) {
    return {
      status: 421,
      code: "misdirected_request",
      message: `the Host ${JSON.stringify(request.headers.host ?? "")} is not served here; ${hostAdvice}`,
    };
  }
  const { origin } = request.headers;
  if (origin !== undefined && origin.toLowerCase() !== `http://${host}` && origin.toLowerCase() !== `https://${host}`) {
    return {
      status: 403,
      code: "FORBIDDEN",
      message: `pages of the origin ${JSON.stringify(origin)} may not use ${name}`,
    };
  }
  if (!fetchIsOurs(request))
    return { status: 403, code: "FORBIDDEN", message: "the request comes from a page of another site" };
  return undefined;
}

/**
 * Returns true for a loopback name or an allowed name with the server's port, or for the address on which the
 * connection arrived.
 */
function hostIsOurs(
  host: string,
  port: number,
  allowedHosts: readonly string[],
  localAddress: string | undefined,
): boolean {
  const [, name, written] = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?$/.exec(host) ?? [];
  if (name === undefined) return false;
  // Behind a proxy or tunnel, the name has no port or the proxy's port.
  if (allowedHosts.includes(name)) return true;
  if (Number(written ?? 80) !== port) return false;
  if (name === "localhost" || name === "127.0.0.1" || name === "[::1]" || name.endsWith(".localhost")) return true;
  if (localAddress === undefined || name === "0.0.0.0" || name === "[::]") return false;
  // A literal address cannot be the result of DNS rebinding.
  return name === localAddress.replace(/^::ffff:/, "") || name === `[${localAddress}]`;
}

/**
 * Allows a cross-site request only for a link to a page of the console. Other ports of this machine count as other
 * sites.
 */
function fetchIsOurs({ headers, method }: Head): boolean {
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return true;
  return method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
}
