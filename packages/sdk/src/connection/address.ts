import { MASK } from "@svc-runtime/protocol/client";

export const DEFAULT_ADDRESS = "ws://localhost:49134";
/** Default address of the engine's stream listener. */
export const DEFAULT_STREAMS_ADDRESS = "ws://localhost:3112";

/** Maximum number of addresses. */
const MAX_ADDRESSES = 16;

/**
 * Returns the engine's address: the argument, else the environment variable `SVC_URL`, else `ws://localhost:49134`.
 * Both may list the addresses of several engines of a cluster, separated by commas.
 *
 * @throws TypeError if one of them is not a ws:// or wss:// URL.
 */
export function resolveAddresses(argument: string | undefined, fromEnvironment: string | undefined): readonly string[] {
  const [given, source] = pick(argument, fromEnvironment);
  // A password may contain commas.
  const addresses = given.split(/,(?=\s*wss?:\/\/)/i).map((address) => address.trim());
  for (const address of addresses) checkAddress(address, source, DEFAULT_ADDRESS);
  if (addresses.length > MAX_ADDRESSES) throw new TypeError(`${source} has more than ${MAX_ADDRESSES} addresses`);
  return addresses;
}

/**
 * Returns `url` (default `ws://localhost:3112`) with the members of `query` added.
 *
 * @throws TypeError if it is not a ws:// or wss:// URL.
 */
export function streamsAddress(url: string | undefined, query: Readonly<Record<string, string>> = {}): string {
  const address = url ?? DEFAULT_STREAMS_ADDRESS;
  checkAddress(address, "the streams' address", DEFAULT_STREAMS_ADDRESS);
  const full = new URL(address);
  for (const [name, value] of Object.entries(query)) full.searchParams.append(name, value);
  return full.href;
}

function checkAddress(address: string, source: string, example: string): void {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    // Without the cause, which contains the whole address.
    const among = address.includes(",") ? ", and each of several addresses with its own ws:// or wss://" : "";
    throw new TypeError(`${source} is not a URL: ${JSON.stringify(shownPart(address))}; give it as ${example}${among}`);
  }
  if (url.protocol !== "ws:" && url.protocol !== "wss:") {
    // Without `//`, what is before the colon may be a user or a token.
    const not = address.startsWith(`${url.protocol}//`) ? `, not ${url.protocol}//` : "";
    throw new TypeError(`${source} must begin with ws:// or wss://${not}; give it as ${example}`);
  }
  if (url.hostname.includes(","))
    throw new TypeError(`${source} has a comma in a host name: begin each of several addresses with ws:// or wss://`);
  // WebSocket clients reject a fragment too, but with an unclear error.
  if (url.hash !== "") throw new TypeError(`${source} must not contain a #fragment`);
}

/** Returns a text that is not a URL, without what may be its credentials and its query. */
function shownPart(text: string): string {
  const at = text.lastIndexOf("@");
  const [shown = ""] = text.slice(at + 1).split(/[?#]/, 1);
  if (at !== -1) return `${MASK}@${shown}`;
  // What is not a port may be a password without its host.
  const [, start = "", rest = ""] = /^((?:\w+:?\/+)?[^:/]*)(.*)$/s.exec(shown) ?? [];
  return rest === "" || /^(?::\d*)?(?:\/|$)/.test(rest) ? shown : `${start}:${MASK}`;
}

function pick(argument: string | undefined, fromEnvironment: string | undefined): readonly [string, string] {
  if (argument !== undefined) return [argument, "the address"];
  if (fromEnvironment !== undefined && fromEnvironment.trim() !== "") return [fromEnvironment.trim(), "SVC_URL"];
  return [DEFAULT_ADDRESS, "the address"];
}

/** Returns the address for logs, with password and query masked. */
export function redactAddress(address: string): string {
  const url = new URL(address);
  if (url.password !== "") url.password = MASK;
  if (url.search !== "") url.search = `?${MASK}`;
  return url.href;
}
