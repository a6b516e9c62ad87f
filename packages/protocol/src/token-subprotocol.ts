/**
 * Pages cannot set headers on a WebSocket, and browsers drop credentials from its address. So a page offers two
 * subprotocols in `Sec-WebSocket-Protocol`: `svc`, and `svc.token.` followed by the token's UTF-8 bytes in base64url
 * without padding. The engine reads the token from the second subprotocol and selects the first, so that its response
 * does not contain the token. It must select a subprotocol, because otherwise browsers fail the connection.
 */
const SUBPROTOCOL = "svc";
export const TOKEN_SUBPROTOCOL_PREFIX = "svc.token.";
/** Maximum length of a token, in bytes. */
const MAX_TOKEN_BYTES = 4096;
const MAX_TEXT_LENGTH = Math.ceil((MAX_TOKEN_BYTES * 4) / 3);

const encoder = new TextEncoder();
const decoder = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Returns the subprotocols that a page offers for a token.
 *
 * @throws TypeError for an empty token and one over 4,096 bytes.
 */
export function tokenSubprotocols(token: string): [string, string] {
  const bytes = encoder.encode(token);
  if (bytes.length === 0 || bytes.length > MAX_TOKEN_BYTES)
    throw new TypeError(`a token has 1 to ${MAX_TOKEN_BYTES} bytes, not ${bytes.length}`);
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return [SUBPROTOCOL, TOKEN_SUBPROTOCOL_PREFIX + base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")];
}

/**
 * Returns the token in a `Sec-WebSocket-Protocol` header. Returns undefined if there is no token. Returns null, which
 * means an invalid token, if the token is malformed or there are several tokens.
 */
export function tokenOfSubprotocols(header: string | undefined): string | null | undefined {
  if (header === undefined) return undefined;
  const offers = header
    .split(",")
    .map((offer) => offer.trim())
    .filter((offer) => offer.startsWith(TOKEN_SUBPROTOCOL_PREFIX));
  const [offer] = offers;
  if (offer === undefined) return undefined;
  return offers.length === 1 ? decoded(offer.slice(TOKEN_SUBPROTOCOL_PREFIX.length)) : null;
}

function decoded(text: string): string | null {
  if (text === "" || text.length > MAX_TEXT_LENGTH || !/^[A-Za-z0-9_-]+$/.test(text)) return null;
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return decoder.decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
  } catch {
    return null;
  }
}
