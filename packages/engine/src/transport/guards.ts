import type { IncomingMessage } from "node:http";

/** Who may talk to a listener that a browser can reach. Read at each request, since the config may change. */
export interface AccessRules {
  /** Origins that may open sockets and call `/_console/*`, e.g. `http://localhost:5173`. */
  readonly allowedOrigins: readonly string[];
  /** Accepted in the Host header besides the loopback names: names, which stand for every port of them, and names with a port. Lower case. */
  readonly allowedHosts: readonly string[];
}

/** Why a request is not for this listener, by its Host and by the authority of its target, in one sentence; undefined when it is. */
export function misdirection(request: IncomingMessage, port: number, rules: AccessRules): string | undefined {
  const { host } = request.headers;
  if (host === undefined) return "the request names no Host";
  const authority = authorityOf(request.url ?? "");
  const foreign = [host, authority].find((named) => named !== undefined && !hostIsOurs(named, port, rules, request));
  return foreign === undefined ? undefined : `the Host ${JSON.stringify(foreign)} is not served here; add ${JSON.stringify(foreign)} to engine.allowed_hosts`;
}

/** The authority of a target in absolute form, which takes the place of the Host (RFC 9112, section 3.2.2). */
function authorityOf(target: string): string | undefined {
  return target.startsWith("/") ? undefined : /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(target)?.[1];
}

/**
 * True when the Host header names this listener: a loopback name with the listener's own port, or an allowed one. A page
 * whose name was made to resolve to this machine (DNS rebinding) still sends its own name. `0.0.0.0` is not a name of ours.
 */
export function hostIsOurs(host: string | undefined, port: number, rules: AccessRules, request?: Pick<IncomingMessage, "socket">): boolean {
  if (host === undefined) return false;
  const given = host.toLowerCase();
  const split = splitHost(given);
  if (split === undefined) return false;
  // Behind a proxy or tunnel a name stands without port, or with that of the proxy.
  if (rules.allowedHosts.length > 0 && [split.name, split.name.replace(/^\[|\]$/g, ""), given].some((name) => rules.allowedHosts.includes(name))) return true;
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
  const { origin } = request.headers;
  const misdirected = misdirection(request, port, rules);
  if (misdirected !== undefined) return { status: "421 Misdirected Request", code: "misdirected_request", message: misdirected };
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
