import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIPv6 } from "node:net";
import type { OutboundRules } from "../kernel/module.ts";
import { hostOf } from "./url-pattern.ts";
import { literalAddress, refused, requirePublic } from "./url-policy.ts";

/** All addresses of a host name. Rejects with a system error (`ENOTFOUND`, `EAI_AGAIN`). */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** As every program on this machine resolves names, /etc/hosts included. */
export const systemResolve: Resolve = (host) => lookup(host, { all: true, verbatim: true });

/** More are not tried. */
const MAX_ADDRESSES = 8;

/** The resolver knew no address; a later attempt may. */
export class NotResolved extends Error {}

/** Callers that ask for the same name at the same moment share one question: the resolver's threads are few. */
export function sharing(resolve: Resolve): Resolve {
  const asking = new Map<string, Promise<readonly LookupAddress[]>>();
  return (host) => {
    const known = asking.get(host);
    if (known !== undefined) return known;
    const answer = resolve(host).finally(() => asking.delete(host));
    asking.set(host, answer);
    return answer;
  };
}

/** The addresses to connect to, checked. This is the one time that the name is resolved for an attempt: the connection goes to exactly these. */
export async function resolveChecked(url: URL, rules: OutboundRules, resolve: Resolve): Promise<readonly LookupAddress[]> {
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

/** What a caller gets when the name stayed unresolved. */
export function notResolved(url: URL, failure: NotResolved): Error {
  return refused(`DNS lookup failed: ${hostOf(url)}: ${failure.message}`);
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "the resolver failed";
}
