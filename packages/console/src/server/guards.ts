import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** Why a request is not served. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** What is guarded, in the words of whoever serves it. */
export interface Guarded {
  /** Names besides the loopback ones under which it is reached. */
  readonly allowedHosts?: readonly string[];
  /** As a refusal names it, e.g. "this console". */
  readonly name: string;
  /** What to do about a host that is not served. */
  readonly hostAdvice: string;
}

type Head = Pick<IncomingMessage, "headers" | "rawHeaders" | "method"> & { readonly socket: Pick<Socket, "localAddress"> };

/**
 * Refuses what a page of another site could bring about: a request that names another host than this server (DNS rebinding), one that a page of
 * another origin sent, and one that the browser says comes from elsewhere. A page that this server served sends its own origin or none.
 */
export function refusalOf(request: Head, port: number, { allowedHosts = [], name, hostAdvice }: Guarded): Refusal | undefined {
  const hosts = request.rawHeaders.filter((name, at) => at % 2 === 0 && name.length === 4 && name.toLowerCase() === "host").length;
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
    return { status: 403, code: "FORBIDDEN", message: `pages of the origin ${JSON.stringify(origin)} may not use ${name}` };
  }
  if (!fetchIsOurs(request)) return { status: 403, code: "FORBIDDEN", message: "the request comes from a page of another site" };
  return undefined;
}

/** A loopback name or an allowed one with the server's own port, or the very address that the connection came in on. */
function hostIsOurs(host: string, port: number, allowedHosts: readonly string[], localAddress: string | undefined): boolean {
  const [, name, written] = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?$/.exec(host) ?? [];
  if (name === undefined) return false;
  // Behind a proxy or tunnel a name stands without port, or with the proxy's own.
  if (allowedHosts.includes(name)) return true;
  if (Number(written ?? 80) !== port) return false;
  if (name === "localhost" || name === "127.0.0.1" || name === "[::1]" || name.endsWith(".localhost")) return true;
  if (localAddress === undefined || name === "0.0.0.0" || name === "[::]") return false;
  // No name could have been made to resolve to an address that stands there itself.
  return name === localAddress.replace(/^::ffff:/, "") || name === `[${localAddress}]`;
}

/** Somebody may follow a link of another site to a page of the console; nothing else may come from there, another port of this machine included. */
function fetchIsOurs({ headers, method }: Head): boolean {
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return true;
  return method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
}
