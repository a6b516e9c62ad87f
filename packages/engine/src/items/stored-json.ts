import { CallError, MAX_DEPTH, type Payload } from "@svc/protocol";

export interface StoredJson {
  readonly json: string;
  /** Size of `json` in bytes of UTF-8. */
  readonly bytes: number;
}

/**
 * The text under which a value is stored: as it came, digit by digit, but without white space between tokens and with each string escaped in the one
 * way of `JSON.stringify`, so that equal values written by different clients are equal texts. `payload` is JSON.
 *
 * Throws `invalid_input` for one that is nested too deeply and `payload_too_large`, which names size and limit. `name` is the member's, e.g.
 * `value`; `limit` names the setting, e.g. "max_value_bytes of svc-state".
 */
export function storedJson(payload: Payload, limits: { readonly name: string; readonly maxBytes: number; readonly limit: string }): StoredJson {
  const json = normalJson(payload.text(), MAX_DEPTH);
  if (json === undefined) {
    const message = `\`${limits.name}\`: is nested deeper than ${MAX_DEPTH} levels, which is the limit`;
    throw new CallError("invalid_input", message, { details: { limit: MAX_DEPTH } });
  }
  const bytes = Buffer.byteLength(json);
  if (bytes > limits.maxBytes) {
    const message = `\`${limits.name}\`: is ${bytes} bytes of JSON; at most ${limits.maxBytes} are allowed (${limits.limit})`;
    throw new CallError("payload_too_large", message, { details: { bytes, limit: limits.maxBytes } });
  }
  return { json, bytes };
}

const QUOTE = 34;
const BACKSLASH = 92;

/** Undefined when the JSON is nested deeper than `maxDepth`. Goes through the text once, without recursion. */
function normalJson(text: string, maxDepth: number): string | undefined {
  const pieces: string[] = [];
  let pieceStart = 0;
  let depth = 0;
  let backslash = nextOf(text, "\\", 0);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      if (backslash < at) backslash = nextOf(text, "\\", at);
      if (backslash < end) {
        pieces.push(text.slice(pieceStart, at), JSON.stringify(JSON.parse(text.slice(at, end + 1))));
        pieceStart = end + 1;
      }
      at = end;
    } else if (code === 91 || code === 123) {
      if (++depth > maxDepth) return undefined;
    } else if (code === 93 || code === 125) {
      depth--;
    } else if (code === 32 || code === 10 || code === 13 || code === 9) {
      pieces.push(text.slice(pieceStart, at));
      pieceStart = at + 1;
    }
  }
  return pieceStart === 0 ? text : pieces.join("") + text.slice(pieceStart);
}

/** Index of the quote that ends the string opened at `open`. */
function endOfString(text: string, open: number): number {
  let at = nextOf(text, '"', open + 1);
  while (at < text.length) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return at;
    at = nextOf(text, '"', at + 1);
  }
  return text.length;
}

function nextOf(text: string, character: string, from: number): number {
  const found = text.indexOf(character, from);
  return found < 0 ? text.length : found;
}
