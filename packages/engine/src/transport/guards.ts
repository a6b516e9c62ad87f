import type { IncomingMessage } from "node:http";

/** Access rules of a listener that a browser can reach. Read for each request, because the config may change. */
export interface AccessRules {
  /** Origins that may open sockets and call `/_console/*`, e.g. `http://localhost:5173`. */
  readonly allowedOrigins: readonly string[];
  /** Accepted Host headers besides the loopback names, in lower case. A name without a port matches every port. */
  readonly allowedHosts: readonly string[];
}

/** Returns why a request is not for this listener: its Host, or the host in its URL, is not accepted. Or undefined. */
export function misdirection(request: IncomingMessage, port: number, rules: AccessRules): string | undefined {
  const { host } = request.headers;
  if (host === undefined) return "the request names no Host";
  const authority = authorityOf(request.url ?? "");
  const foreign = [host, authority].find((named) => named !== undefined && !hostIsOurs(named, port, rules, request));
  return foreign === undefined
    ? undefined
    : `the Host ${JSON.stringify(foreign)} is not served here; add ${JSON.stringify(foreign)} to engine.allowed_hosts`;
}

/** Returns the authority of an absolute-form target, which replaces the Host (RFC 9112, section 3.2.2). */
function authorityOf(target: string): string | undefined {
  return target.startsWith("/") ? undefined : /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(target)?.[1];
}

/**
 * Returns true if the Host header names this listener: a loopback name with the listener's port, or an allowed name.
 * This prevents DNS rebinding: a page whose name was made to resolve to this machine still sends its own name as Host.
 * `0.0.0.0` is not accepted.
 */
export function hostIsOurs(
  host: string | undefined,
  port: number,
  rules: AccessRules,
  request?: Pick<IncomingMessage, "socket">,
): boolean {
  if (host === undefined) return false;
  const given = host.toLowerCase();
  const split = splitHost(given);
  if (split === undefined) return false;
  // The port of an allowed name is not compared, because behind a proxy or tunnel the Host has no port or the proxy's.
  if (
    rules.allowedHosts.length > 0 &&
    [split.name, split.name.replace(/^\[|\]$/g, ""), given].some((name) => rules.allowedHosts.includes(name))
  )
    return true;
  const isTls = request?.socket !== undefined && "encrypted" in request.socket;
  if ((split.port ?? (isTls ? 443 : 80)) !== port) return false;
  return (
    split.name === "localhost" ||
    split.name === "127.0.0.1" ||
    split.name === "[::1]" ||
    split.name.endsWith(".localhost") ||
    isOwnAddress(split.name, request?.socket.localAddress)
  );
}

/** Returns true for the exact local address of the connection. This is safe, because it is not a name that resolves. */
function isOwnAddress(name: string, localAddress: string | undefined): boolean {
  if (localAddress === undefined || name === "0.0.0.0" || name === "[::]") return false;
  return name === localAddress.replace(/^::ffff:/, "") || name === `[${localAddress}]`;
}

function splitHost(host: string): { readonly name: string; readonly port: number | undefined } | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?$/.exec(host);
  if (match === null) return undefined;
  return { name: match[1] as string, port: match[2] === undefined ? undefined : Number(match[2]) };
}

/**
 * Returns true if the request does not come from a page, or comes from a page of an allowed origin. `null` (sandboxed
 * frames, files) is never allowed.
 */
export function originIsAllowed(origin: string | undefined, rules: AccessRules): boolean {
  if (origin === undefined) return true;
  return origin !== "null" && rules.allowedOrigins.includes(origin.toLowerCase());
}

export interface UpgradeRefusal {
  readonly status: string;
  readonly code: "misdirected_request" | "FORBIDDEN";
  readonly message: string;
}

/**
 * Returns why a WebSocket handshake is refused, or undefined. Browsers apply no same-origin policy to WebSockets, so
 * only this check keeps other sites out.
 */
export function upgradeRefusal(request: IncomingMessage, port: number, rules: AccessRules): UpgradeRefusal | undefined {
  const { origin } = request.headers;
  const misdirected = misdirection(request, port, rules);
  if (misdirected !== undefined)
    return { status: "421 Misdirected Request", code: "misdirected_request", message: misdirected };
  if (!originIsAllowed(origin, rules)) {
    return {
      status: "403 Forbidden",
      code: "FORBIDDEN",
      message: `the origin ${JSON.stringify(origin ?? "")} may not connect; add it to engine.allowed_origins`,
    };
  }
  return undefined;
}

/**
 * Returns true if the request comes from the same or an allowed origin, from user navigation, or not from a browser.
 */
export function fetchSiteIsSafe(request: IncomingMessage, rules: AccessRules): boolean {
  const site = request.headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return true;
  // For the browser, an allowed origin on another port is "same-site" or "cross-site", so check its Origin header.
  const { origin } = request.headers;
  return origin !== undefined && originIsAllowed(origin, rules);
}
