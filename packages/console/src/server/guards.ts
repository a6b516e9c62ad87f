import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** Reason for a rejected request. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** Settings of the server that is protected. */
export interface Guarded {
  /** Host names that are allowed in addition to the loopback names. */
  readonly allowedHosts?: readonly string[];
  /** Name of the server in messages, for example "this console". */
  readonly name: string;
  /** Advice in the message about a host name that is not allowed. */
  readonly hostAdvice: string;
}

type Head = Pick<IncomingMessage, "headers" | "rawHeaders" | "method"> & {
  readonly socket: Pick<Socket, "localAddress">;
};

/**
 * Returns why a request is rejected because a page of another site may have caused it. There are three reasons: another
 * host name (DNS rebinding), another origin, or the browser's mark for cross-site requests. Pages of this server send
 * its own origin or no origin.
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
 * Returns true in three cases: the name is an allowed name; it is a loopback name with the server's port; it is the
 * address on which the connection arrived.
 */
function hostIsOurs(
  host: string,
  port: number,
  allowedHosts: readonly string[],
  localAddress: string | undefined,
): boolean {
  const [, name, written] = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?$/.exec(host) ?? [];
  if (name === undefined) return false;
  // The port of an allowed name is not checked: behind a proxy or tunnel, Host has no port or the port of the proxy.
  if (allowedHosts.includes(name)) return true;
  if (Number(written ?? 80) !== port) return false;
  if (name === "localhost" || name === "127.0.0.1" || name === "[::1]" || name.endsWith(".localhost")) return true;
  if (localAddress === undefined || name === "0.0.0.0" || name === "[::]") return false;
  // DNS rebinding needs a name, so an address itself is safe.
  return name === localAddress.replace(/^::ffff:/, "") || name === `[${localAddress}]`;
}

/**
 * Returns true if the browser did not mark the request as cross-site. A cross-site request is allowed only if it is a
 * link to a page of the console. Other ports of this machine count as other sites.
 */
function fetchIsOurs({ headers, method }: Head): boolean {
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return true;
  return method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
}
