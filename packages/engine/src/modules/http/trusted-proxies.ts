import { BlockList, isIP } from "node:net";

/** Addresses of proxies whose `X-Forwarded-*` headers are trusted. */
export interface TrustedProxies {
  readonly isEmpty: boolean;
  has(address: string): boolean;
}

/** Maximum number of hops of `X-Forwarded-For` that are used, counted from the right. Real lists are shorter. */
const MAX_HOPS = 32;
const LOOPBACK: readonly string[] = ["127.0.0.0/8", "::1"];

/** Returns what is wrong with an entry of `trusted_proxies`, or undefined. */
export function proxyProblem(entry: string): string | undefined {
  return entry === "loopback" || subnetOf(entry) !== undefined
    ? undefined
    : `expected "loopback", an address or a network such as 10.0.0.0/8`;
}

/** `entries` are `loopback`, addresses and networks (CIDR), already validated. */
export function trustedProxies(entries: readonly string[]): TrustedProxies {
  const list = new BlockList();
  for (const entry of entries.flatMap((each) => (each === "loopback" ? LOOPBACK : [each]))) {
    const subnet = subnetOf(entry);
    if (subnet !== undefined) list.addSubnet(subnet.address, subnet.prefix, subnet.family);
  }
  return {
    isEmpty: entries.length === 0,
    has(address) {
      const family = isIP(address);
      return family !== 0 && list.check(address, family === 4 ? "ipv4" : "ipv6");
    },
  };
}

function subnetOf(
  entry: string,
): { readonly address: string; readonly prefix: number; readonly family: "ipv4" | "ipv6" } | undefined {
  const match = /^([^/]+)(?:\/([0-9]{1,3}))?$/.exec(entry);
  const address = match?.[1] ?? "";
  const version = isIP(address);
  if (version === 0) return undefined;
  const bits = version === 4 ? 32 : 128;
  const prefix = match?.[2] === undefined ? bits : Number(match[2]);
  return prefix > bits ? undefined : { address, prefix, family: version === 4 ? "ipv4" : "ipv6" };
}

/**
 * The address of the client, and the protocol and host of its request. Behind trusted proxies, their headers are used.
 */
export interface Client {
  /** Null if the connection has already ended. */
  readonly address: string | null;
  readonly protocol: "http" | "https";
  /** Null if the request has no host. */
  readonly host: string | null;
  /** True if the connection itself comes from a trusted proxy. */
  readonly cameByProxy: boolean;
}

export interface Connection {
  readonly remoteAddress: string | undefined;
  readonly isEncrypted: boolean;
  readonly host: string | undefined;
}

/**
 * Returns the client as the trusted proxies saw it. `X-Forwarded-For` is read from right to left, up to the first
 * address that is not a trusted proxy: the client's. The addresses to the left of it may be forged.
 */
export function clientOf(
  connection: Connection,
  headers: Readonly<Record<string, string>>,
  proxies: TrustedProxies,
): Client {
  const peer = plainAddress(connection.remoteAddress);
  const direct: Client = {
    address: peer ?? null,
    protocol: connection.isEncrypted ? "https" : "http",
    host: connection.host ?? null,
    cameByProxy: false,
  };
  if (proxies.isEmpty || peer === undefined || !proxies.has(peer)) return direct;
  // If there are several values, the last one is used, because the proxy nearest to the engine wrote it.
  const protocol = lastOf(headers["x-forwarded-proto"])?.toLowerCase();
  const host = lastOf(headers["x-forwarded-host"]);
  return {
    address: forwardedAddress(peer, headers["x-forwarded-for"], proxies),
    protocol: protocol === "http" || protocol === "https" ? protocol : direct.protocol,
    host: host !== undefined && /^[A-Za-z0-9._:[\]-]{1,255}$/.test(host) ? host : direct.host,
    cameByProxy: true,
  };
}

function forwardedAddress(peer: string, forwardedFor: string | undefined, proxies: TrustedProxies): string {
  let address = peer;
  const hops = (forwardedFor ?? "").split(",").slice(-MAX_HOPS).reverse();
  for (const hop of hops) {
    const next = addressOfHop(hop.trim());
    if (next === undefined) return address;
    address = next;
    if (!proxies.has(address)) return address;
  }
  return address;
}

/** Returns the address of a hop, which some proxies write with a port or in brackets. */
function addressOfHop(hop: string): string | undefined {
  const bare = /^\[([^\]]+)\](?::[0-9]{1,5})?$/.exec(hop)?.[1] ?? /^([0-9.]+):[0-9]{1,5}$/.exec(hop)?.[1] ?? hop;
  return isIP(bare) === 0 ? undefined : plainAddress(bare);
}

function lastOf(list: string | undefined): string | undefined {
  return list?.split(",").at(-1)?.trim();
}

const MAPPED_IPV4 = /^::ffff:(?=[0-9.]+$)/i;

/** Converts an IPv4-mapped IPv6 address to IPv4. */
function plainAddress(address: string | undefined): string | undefined {
  return address?.replace(MAPPED_IPV4, "");
}
