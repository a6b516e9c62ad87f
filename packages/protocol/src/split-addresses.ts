/** Maximum number of addresses of engines that a client takes. */
export const MAX_ADDRESSES = 16;

/**
 * Splits a list of addresses of engines, e.g. `ws://a:49134,ws://b:49134`. Does not check the addresses. Splits only at
 * commas before `ws://` or `wss://`, because a password may contain commas.
 */
export function splitAddresses(text: string): readonly string[] {
  return text.split(/,(?=\s*wss?:\/\/)/i).map((address) => address.trim());
}
