/** Maximum length of baggage, in bytes. */
export const MAX_BAGGAGE_BYTES = 8192;

// W3C Trace Context, version 00: version, 16 byte trace id, 8 byte parent id, flags; neither id all zeros.
const TRACEPARENT = /^[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * Returns the value if it is well formed, or undefined, because the standard requires that a malformed one is dropped.
 */
export function cleanTraceparent(value: string | undefined): string | undefined {
  return value !== undefined && value.length === 55 && TRACEPARENT.test(value) ? value : undefined;
}

// W3C Baggage: a header of visible ASCII, everything else percent-encoded. Other text could not be sent as a header.
const BAGGAGE = /^[\t\x20-\x7e]+$/;

/**
 * Returns the baggage if it is well formed and within the limit. Longer baggage is dropped entirely, since a truncated
 * list could have another meaning.
 */
export function cleanBaggage(value: string | undefined): string | undefined {
  return value !== undefined && value.length <= MAX_BAGGAGE_BYTES && BAGGAGE.test(value) ? value : undefined;
}
