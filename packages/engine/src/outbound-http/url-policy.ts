import { isIP } from "node:net";
import { CallError } from "@svc-runtime/protocol";
import type { OutboundRules } from "../kernel/module.ts";
import { nonPublicClass } from "./address-class.ts";
import { hostOf, matchesUrlPattern, portOf } from "./url-pattern.ts";

/**
 * Validates a URL without network access: its form, its scheme, the allow list, and literal addresses in any notation.
 * Throws `url_validation_failed`. Each message begins with one of the documented texts.
 */
export function checkUrl(text: string, rules: OutboundRules): URL {
  if (!URL.canParse(text)) throw refused("Invalid URL");
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw refused(`Invalid URL: the scheme ${url.protocol.slice(0, 20)} is not http or https`);
  // Node would ignore the user name and the password, and they would appear in logs.
  if (url.username !== "" || url.password !== "")
    throw refused("Invalid URL: it holds a user name or password; use `auth` with the name of an environment variable");
  if (rules.requireHttps && url.protocol !== "https:") {
    throw refused(
      `HTTPS is required: ${hostOf(url)} is to be reached over http; to allow that, set engine.http_functions.require_https: false`,
    );
  }
  if (rules.urlAllowlist.length > 0 && !rules.urlAllowlist.some((pattern) => matchesUrlPattern(pattern, url))) {
    throw refused(
      `URL not in allowlist: no entry of engine.http_functions.url_allowlist matches ${url.protocol}//${hostOf(url)}:${portOf(url)}`,
    );
  }
  // Names below localhost always mean this machine (RFC 6761). So reject them at registration, not only at the first
  // call.
  const literal = literalAddress(url) ?? (/(?:^|[.])localhost$/.test(hostOf(url)) ? "127.0.0.1" : undefined);
  if (literal !== undefined) requirePublic([literal], hostOf(url), rules);
  return url;
}

/** Returns the address if the host of the URL is an address; undefined for a name. */
export function literalAddress(url: URL): string | undefined {
  const host = hostOf(url);
  const bare = host.startsWith("[") ? host.slice(1, -1) : host;
  return isIP(bare) === 0 ? undefined : bare;
}

/**
 * Throws if any of the addresses is not public. One is enough, because the owner of the name could otherwise choose
 * which of them is used.
 */
export function requirePublic(addresses: readonly string[], host: string, rules: OutboundRules): void {
  if (!rules.blockPrivateIps) return;
  for (const address of addresses) {
    const kind = nonPublicClass(address);
    if (kind === undefined) continue;
    throw refused(
      `Private IP blocked: ${host} is a ${kind} address; to allow addresses that are not public, set engine.http_functions.block_private_ips: false`,
    );
  }
}

export function refused(message: string): CallError {
  return new CallError("url_validation_failed", message);
}
