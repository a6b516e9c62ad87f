import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIPv6 } from "node:net";
import type { OutboundRules } from "../kernel/module.ts";
import { hostOf } from "./url-pattern.ts";
import { literalAddress, refused, requirePublic } from "./url-policy.ts";

/** Returns all addresses of a host name. Rejects with a system error (`ENOTFOUND`, `EAI_AGAIN`). */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** Resolves names like other programs on this machine, e.g. with /etc/hosts. */
export const systemResolve: Resolve = (host) => lookup(host, { all: true, verbatim: true });

/** Maximum number of addresses of a name that are used. */
const MAX_ADDRESSES = 8;

/** Thrown if a name could not be resolved. A later attempt may succeed. */
export class NotResolved extends Error {}

/** Shares one lookup among concurrent requests for the same name, because the resolver has few threads. */
export function coalesced(resolve: Resolve): Resolve {
  const asking = new Map<string, Promise<readonly LookupAddress[]>>();
  return (host) => {
    const known = asking.get(host);
    if (known !== undefined) return known;
    const answer = resolve(host).finally(() => asking.delete(host));
    asking.set(host, answer);
    return answer;
  };
}

/**
 * Returns the validated addresses to connect to. The name is resolved only once per attempt, and the connection uses
 * exactly these addresses. So the owner of the name cannot return another address after the validation.
 */
export async function resolveChecked(
  url: URL,
  rules: OutboundRules,
  resolve: Resolve,
): Promise<readonly LookupAddress[]> {
  const literal = literalAddress(url);
  if (literal !== undefined) return [{ address: literal, family: isIPv6(literal) ? 6 : 4 }];
  const host = hostOf(url);
  let found: readonly LookupAddress[];
  try {
    found = (await resolve(host)).slice(0, MAX_ADDRESSES);
  } catch (cause) {
    throw new NotResolved(codeOf(cause), { cause });
  }
  if (found.length === 0) throw new NotResolved("no address");
  requirePublic(
    found.map(({ address }) => address),
    host,
    rules,
  );
  return found;
}

/** Returns the error that the caller gets for a name that could not be resolved. */
export function notResolved(url: URL, failure: NotResolved): Error {
  return refused(`DNS lookup failed: ${hostOf(url)}: ${failure.message}`);
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : "the resolver failed";
}
