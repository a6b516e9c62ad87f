/** Longest baggage that is carried, in bytes of its text. */
export const MAX_BAGGAGE_BYTES = 8192;

// W3C Trace Context, version 00: version, 16 byte trace id, 8 byte parent id, flags; neither id all zeros.
const TRACEPARENT = /^[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The value when it is well formed; a malformed one is dropped, as the standard asks. */
export function cleanTraceparent(value: string | undefined): string | undefined {
  return value !== undefined && value.length === 55 && TRACEPARENT.test(value) ? value : undefined;
}

// W3C Baggage: a header of visible ASCII, the rest percent-encoded. Anything else could not leave the engine as the header that it is.
const BAGGAGE = /^[\t\x20-\x7e]+$/;

/** Baggage that is one, within the limit; larger is dropped whole, since a cut list could say something else. */
export function cleanBaggage(value: string | undefined): string | undefined {
  return value !== undefined && value.length <= MAX_BAGGAGE_BYTES && BAGGAGE.test(value) ? value : undefined;
}
