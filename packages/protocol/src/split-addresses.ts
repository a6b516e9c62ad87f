/** Maximum number of addresses of engines that a client takes. */
export const MAX_ADDRESSES = 16;

/**
 * Splits a list of addresses of engines, e.g. `ws://a:49134,ws://b:49134`. Checks nothing. Commas elsewhere stay, because
 * a password may contain some.
 */
export function splitAddresses(text: string): readonly string[] {
  return text.split(/,(?=\s*wss?:\/\/)/i).map((address) => address.trim());
}
