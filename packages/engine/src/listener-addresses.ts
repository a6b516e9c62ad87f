import { isLoopback, isWildcard } from "./config/listen-address.ts";
import type { Listener } from "./transport/listener.ts";

type Scheme = "ws" | "http";
type Bound = Pick<Listener, "host" | "port" | "isTls">;

/** Returns the listener's URL on this machine: a wildcard host is replaced by a loopback address. */
export function localUrlOf(scheme: Scheme, listener: Bound): string {
  const { host } = listener;
  const isAnyHost = isWildcard(host);
  if (isAnyHost && host.includes(":")) return url(scheme, listener, "::1");
  return url(scheme, listener, isAnyHost || host === "127.0.0.1" ? "localhost" : host);
}

/**
 * Returns the URL for people: like `localUrlOf`, but a listener that other machines can reach is shown with its host
 * and a note, e.g. `ws://0.0.0.0:49134 (every interface)`.
 */
export function boundUrlOf(scheme: Scheme, listener: Bound): string {
  if (!isOffLoopback(listener)) return localUrlOf(scheme, listener);
  return `${url(scheme, listener, listener.host)} (${isWildcard(listener.host) ? "every interface" : "other machines reach it"})`;
}

export function isOffLoopback({ host }: Bound): boolean {
  return !isLoopback(host);
}

function url(scheme: Scheme, { port, isTls }: Bound, host: string): string {
  return `${scheme}${isTls ? "s" : ""}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
