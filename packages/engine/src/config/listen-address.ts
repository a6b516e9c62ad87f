import { isIPv4, isIPv6 } from "node:net";
import { z } from "zod";
import { tlsBlockSchema } from "./blocks/tls-block.ts";

/** Address that a listener binds. Default: loopback. */
export interface ListenAddress {
  readonly host: string;
  /** Port, 0 to 65535. 0 selects a free port. */
  readonly port: number;
  /** TLS is used if this is present. */
  readonly tls?: TlsFiles;
}

/** Absolute paths of PEM files. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  /** If set, clients must present a certificate that this authority signed. */
  readonly clientCa?: string;
}

export const DEFAULT_BRIDGE: ListenAddress = { host: "127.0.0.1", port: 49134 };
export const DEFAULT_HTTP: ListenAddress = { host: "127.0.0.1", port: 3111 };
export const DEFAULT_REALTIME: ListenAddress = { host: "127.0.0.1", port: 3112 };

export const portSchema = z.int().min(0).max(65_535).meta({ description: "0 to 65535; 0 takes a free port" });

export const hostSchema = z
  .string()
  .refine((host) => isIPv4(host) || (isIPv6(host) && !host.includes("%")) || isHostName(host), {
    message: "must be an address of this machine, e.g. 127.0.0.1, 0.0.0.0, ::1 or localhost",
  })
  .meta({
    description: "Address to bind: 127.0.0.1, ::1 or localhost for this machine only, 0.0.0.0 for every network",
  });

/** Address of a listener, as a block of the config file. All keys are optional. */
export const addressBlockSchema = z.strictObject({
  host: hostSchema.optional(),
  port: portSchema.optional(),
  tls: tlsBlockSchema.optional(),
});

export function isHostName(text: string): boolean {
  return (
    /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/i.test(text) &&
    !/^[0-9.]+$/.test(text)
  );
}

/** True for 127.0.0.0/8, ::1 and localhost. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith("127.");
  if (isIPv6(host)) return isLoopbackIPv6(host);
  return host.toLowerCase() === "localhost";
}

/**
 * Compares the normalized address, because ::1 has many spellings, e.g. 0:0:0:0:0:0:0:1. The URL parser normalizes
 * them, but does not accept a zone (%eth0).
 */
function isLoopbackIPv6(host: string): boolean {
  return !host.includes("%") && new URL(`http://[${host}]`).hostname === "[::1]";
}

/**
 * True if two listeners would bind the same port of an address. `127.0.0.1`, `localhost` and `::1` count as equal: a
 * listener on `127.0.0.1` or `localhost` also binds `::1`. The other addresses of 127.0.0.0/8 can be bound separately.
 */
export function collide(a: ListenAddress, b: ListenAddress): boolean {
  if (a.port === 0 || a.port !== b.port) return false;
  return isWildcard(a.host) || isWildcard(b.host) || bindName(a.host) === bindName(b.host);
}

/** True if the host means every address of this machine. */
export function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || (isIPv6(host) && !host.includes("%") && new URL(`http://[${host}]`).hostname === "[::]");
}

/** Returns the host by which `collide` compares listeners: one name for the loopback addresses that are bound together. */
function bindName(host: string): string {
  return isLoopback(host) && !(isIPv4(host) && host !== "127.0.0.1") ? "loopback" : host;
}
