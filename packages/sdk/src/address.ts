export const DEFAULT_ADDRESS = "ws://localhost:49134";

/**
 * The engine's address: the argument, else the environment's `SVC_URL`, else `ws://localhost:49134`.
 * Throws TypeError when it is not a ws:// or wss:// URL.
 */
export function resolveAddress(argument: string | undefined, fromEnvironment: string | undefined): string {
  const [address, source] = pick(argument, fromEnvironment);
  let url: URL;
  try {
    url = new URL(address);
  } catch (cause) {
    throw new TypeError(`${source} is not a URL: ${JSON.stringify(address)}; give it as ${DEFAULT_ADDRESS}`, { cause });
  }
  if (url.protocol !== "ws:" && url.protocol !== "wss:") {
    throw new TypeError(`${source} must begin with ws:// or wss://, not ${url.protocol}//; give it as ${DEFAULT_ADDRESS}`);
  }
  // A fragment is refused by WebSocket clients with a far less helpful error.
  if (url.hash !== "") throw new TypeError(`${source} must not hold a #fragment`);
  return address;
}

function pick(argument: string | undefined, fromEnvironment: string | undefined): readonly [string, string] {
  if (argument !== undefined) return [argument, "the address"];
  if (fromEnvironment !== undefined && fromEnvironment.trim() !== "") return [fromEnvironment.trim(), "SVC_URL"];
  return [DEFAULT_ADDRESS, "the address"];
}

/** The address as it may stand in logs: without password and query. */
export function redactAddress(address: string): string {
  const url = new URL(address);
  if (url.password !== "") url.password = "***";
  if (url.search !== "") url.search = "?***";
  return url.href;
}
