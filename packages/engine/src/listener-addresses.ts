import { isLoopback, isWildcard } from "./config/listen-address.ts";
import type { Listener } from "./transport/listener.ts";

type Scheme = "ws" | "http";
type Bound = Pick<Listener, "host" | "port" | "isTls">;

/** How this machine reaches the listener: a host that stands for every address is reached at a loopback one. */
export function localUrlOf(scheme: Scheme, listener: Bound): string {
  const { host } = listener;
  const standsForAll = isWildcard(host);
  if (standsForAll && host.includes(":")) return url(scheme, listener, "::1");
  return url(scheme, listener, standsForAll || host === "127.0.0.1" ? "localhost" : host);
}

/** How it is bound, for people: the same, and of one that other machines reach its host and that they do, e.g. `ws://0.0.0.0:49134 (every interface)`. */
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
