import type { IncomingMessage } from "node:http";

/** Who may talk to a listener that a browser can reach. Read at each request, since the config may change. */
export interface AccessRules {
  /** Origins that may open sockets and call `/_console/*`, e.g. `http://localhost:5173`. */
  readonly allowedOrigins: readonly string[];
  /** Host names accepted in the Host header besides the loopback ones. */
  readonly allowedHosts: readonly string[];
}

/**
 * True when the Host header names this listener: a loopback name or an allowed one, with the listener's own port. A page
 * whose name was made to resolve to this machine (DNS rebinding) still sends its own name. `0.0.0.0` is not a name of ours.
 */
export function hostIsOurs(host: string | undefined, port: number, rules: AccessRules, request?: Pick<IncomingMessage, "socket">): boolean {
  if (host === undefined) return false;
  const split = splitHost(host.toLowerCase());
  if (split === undefined) return false;
  // Behind a proxy or tunnel a name stands without port.
  if (rules.allowedHosts.includes(split.name) && (split.port === undefined || split.port === port)) return true;
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

/** The very address that the connection came in on: no name could have been made to resolve to it. */
function isOwnAddress(name: string, localAddress: string | undefined): boolean {
  if (localAddress === undefined || name === "0.0.0.0" || name === "[::]") return false;
  return name === localAddress.replace(/^::ffff:/, "") || name === `[${localAddress}]`;
}

function splitHost(host: string): { readonly name: string; readonly port: number | undefined } | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?$/.exec(host);
  if (match === null) return undefined;
  return { name: match[1] as string, port: match[2] === undefined ? undefined : Number(match[2]) };
}

/** True when no page sent the request, or a page of an allowed origin did. `null` (sandboxed frames, files) is never allowed. */
export function originIsAllowed(origin: string | undefined, rules: AccessRules): boolean {
  if (origin === undefined) return true;
  return origin !== "null" && rules.allowedOrigins.includes(origin.toLowerCase());
}

export interface UpgradeRefusal {
  readonly status: string;
  readonly code: "misdirected_request" | "FORBIDDEN";
  readonly message: string;
}

/** Why a WebSocket handshake is not accepted, or undefined when it may go on. There is no same-origin rule for sockets but this. */
export function upgradeRefusal(request: IncomingMessage, port: number, rules: AccessRules): UpgradeRefusal | undefined {
  const { host, origin } = request.headers;
  if (!hostIsOurs(host, port, rules, request)) {
    return {
      status: "421 Misdirected Request",
      code: "misdirected_request",
      message: `the Host ${JSON.stringify(host ?? "")} is not served here; add it to engine.allowed_hosts`,
    };
  }
  if (!originIsAllowed(origin, rules)) {
    return {
      status: "403 Forbidden",
      code: "FORBIDDEN",
      message: `the origin ${JSON.stringify(origin ?? "")} may not connect; add it to engine.allowed_origins`,
    };
  }
  return undefined;
}

/** True when the browser says that the request came from the same site, from nowhere, or when no browser sent it. */
export function fetchSiteIsSafe(request: IncomingMessage, rules: AccessRules): boolean {
  const site = request.headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return true;
  // An allowed origin on another port is "same-site" or "cross-site" to the browser; its Origin header vouches for it.
  const { origin } = request.headers;
  return origin !== undefined && originIsAllowed(origin, rules);
}
