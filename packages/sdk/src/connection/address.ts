import { MASK, MAX_ADDRESSES, splitAddresses } from "@svc-runtime/protocol/client";

export const DEFAULT_ADDRESS = "ws://localhost:49134";
/** Default address of the engine's stream listener. */
export const DEFAULT_STREAMS_ADDRESS = "ws://localhost:3112";

/**
 * Returns the engine's addresses. They come from the argument, or from the environment variable `SVC_URL` if there is
 * no argument. If neither is given, the address is `ws://localhost:49134`. Both may list the addresses of several
 * engines of a cluster, separated by commas.
 *
 * @throws TypeError if an address is not a ws:// or wss:// URL.
 */
export function resolveAddresses(argument: string | undefined, fromEnvironment: string | undefined): readonly string[] {
  const [given, source] = pick(argument, fromEnvironment);
  const addresses = splitAddresses(given);
  for (const address of addresses) checkAddress(address, source, DEFAULT_ADDRESS);
  if (addresses.length > MAX_ADDRESSES) throw new TypeError(`${source} has more than ${MAX_ADDRESSES} addresses`);
  return addresses;
}

/**
 * Returns `url` (default `ws://localhost:3112`) with the members of `query` added.
 *
 * @throws TypeError if `url` is not a ws:// or wss:// URL.
 */
export function streamsAddress(url: string | undefined, query: Readonly<Record<string, string>> = {}): string {
  const address = url ?? DEFAULT_STREAMS_ADDRESS;
  checkAddress(address, "the streams' address", DEFAULT_STREAMS_ADDRESS);
  const full = new URL(address);
  for (const [name, value] of Object.entries(query)) full.searchParams.append(name, value);
  return full.href;
}

function checkAddress(address: string, source: string, example: string): void {
  let url: URL | undefined;
  try {
    url = new URL(address);
  } catch {
    // The error is not passed on, because it contains the whole address, which may have a password.
  }
  // A comma in the host name means that a further address follows which does not begin with ws://.
  if (url === undefined || url.hostname.includes(","))
    throw new TypeError(
      `${source} is not a URL: "${shownPart(address)}"; give it as ${example}, each of several with ws:// or wss://`,
    );
  if (url.protocol !== "ws:" && url.protocol !== "wss:")
    throw new TypeError(`${source} must begin with ws:// or wss://; give it as ${example}`);
  // WebSocket clients also reject a URL with a fragment, but with an unclear error.
  if (url.hash !== "") throw new TypeError(`${source} must not contain a #fragment`);
}

/** Returns the start of a text that is not a URL. It ends before the part that may be a password or a query. */
function shownPart(text: string): string {
  return text.includes("@") ? MASK : text.replace(/(:(?!\/)|[?#]).*/s, `$1${MASK}`);
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
